"""Compiled loops of the matching tree."""
