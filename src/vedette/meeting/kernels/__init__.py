"""Compiled loops of meeting."""
