"""Patterns over several events on Spark: events are read where they are, and followed where their partition is."""
