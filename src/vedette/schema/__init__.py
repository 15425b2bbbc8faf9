"""Schemas, and the encoding of events as typed columns: done once, so that later stages see no Python objects."""
