"""Stored scores in the form that a leaderboard takes."""
