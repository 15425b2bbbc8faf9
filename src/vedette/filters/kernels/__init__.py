"""Compiled loops of filters."""
