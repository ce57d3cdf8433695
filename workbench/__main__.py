"""``ucurve workbench`` opens the workbench on this machine."""

from ucurve.cli import run

if __name__ == "__main__":
    run("workbench")
