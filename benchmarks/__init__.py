"""Figures: speed, parity with people, and what a rewrite does to real packages.

Nothing here is a test; the scripts print what they measured, on the machine they run on.
"""
