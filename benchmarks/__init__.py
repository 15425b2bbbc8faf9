"""Reproducible measurements: `python -m benchmarks`."""
