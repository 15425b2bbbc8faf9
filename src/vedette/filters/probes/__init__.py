"""Probes: tests without a useful order, evaluated once per distinct value of a batch, many at a time."""

from vedette.filters.probes.probe_table import ProbeTable, TokenSets
from vedette.filters.probes.specs import from_spec, to_spec

__all__ = ["ProbeTable", "TokenSets", "from_spec", "to_spec"]
