"""``python -m ucurve COMMAND``: what the console command ``ucurve`` does."""

from ucurve.cli import main

if __name__ == "__main__":
    main()
