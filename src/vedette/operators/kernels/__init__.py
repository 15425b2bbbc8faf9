"""Compiled loops of planning."""
