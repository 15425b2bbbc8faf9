"""Compiled loops of covering."""
