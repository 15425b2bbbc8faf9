"""Vedette, driven as its peers are."""

SAMPLE = "sample.jsonl"  # other events of the same kind, which steer the layout
