"""``ucurve leaderboard``: stored scores in the form that a leaderboard takes."""

from ucurve.cli import run

if __name__ == "__main__":
    run("leaderboard")
