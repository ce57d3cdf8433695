"""Scaling laws fitted over FLOPs, and accuracy against bits per byte."""
