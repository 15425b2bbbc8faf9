"""Vedette's patterns, driven as those of its peers are."""
