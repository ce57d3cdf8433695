"""The style of figures, the layout of their panels and rows, and the files they are written to.

Imports no other folder of ``analysis``.
"""
