"""Probes: tests without a useful order, asked once per distinct value of a batch, many at a time."""

from vedette.matching.probes.specs import from_spec, to_spec
from vedette.matching.probes.tables import ProbeTable, TokenSets

__all__ = ["ProbeTable", "TokenSets", "from_spec", "to_spec"]
