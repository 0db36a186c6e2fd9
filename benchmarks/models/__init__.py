"""Twelve models built from torch alone; each module has ``step()``, one training step's result.

``benchmarks/coverage.py`` compares what their source says about operators with what a run asks
for. They import nothing of this project.
"""
