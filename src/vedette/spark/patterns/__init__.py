"""Patterns over several events on Spark: events are read wherever they are, and followed where their partition is."""
