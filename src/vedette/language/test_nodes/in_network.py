"""`address in cidr '10.0.0.0/8'`: tests of addresses."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from typing import Literal as OneOf

from vedette.language.checked_tree import Atom, Part
from vedette.language.constant_errors import refusal
from vedette.language.networks import network_keys
from vedette.language.render import render, string
from vedette.language.subjects import SubjectNode
from vedette.language.syntax import PER_CONSTANT, Evidence, Operand, Span, ValueTest, span_field
from vedette.language.three_valued import Truth, address_number
from vedette.language.type_families import named
from vedette.language.value_bounds import Values
from vedette.language.valuesets import complement, of_intervals
from vedette.schema.keys import LOWEST, above
from vedette.schema.types import Kind

if TYPE_CHECKING:
    from vedette.language.check import FilterChecker

_SHOWN = 6  # networks in a message


@dataclass(frozen=True, slots=True)
class InNetwork(ValueTest):
    """`address in cidr '10.0.0.0/8'`; several networks are alternatives."""

    NAME = "network test"
    READ_AS: ClassVar[tuple[Kind, ...] | None] = (Kind.IP,)
    OTHER_LEAVES: ClassVar[OneOf[False] | None] = False  # what is no address is in no network

    operand: Operand
    networks: tuple[str, ...]
    span: Span = span_field()

    def words(self) -> tuple[str, str]:
        """Its text."""
        networks = [string(network) for network in self.networks]
        return render(self.operand), "in cidr " + (networks[0] if len(networks) == 1 else f"({', '.join(networks)})")

    @property
    def cost(self) -> float:
        """It grows with the list."""
        return 1.0 + PER_CONSTANT * len(self.networks)

    def evidence(self) -> Iterator[Evidence]:
        """The operand is an address."""
        yield Evidence(self.operand, None, Kind.IP)

    def check(self, checker: FilterChecker) -> Part:
        """An atom; a text is read as an address."""
        if not isinstance(self.operand, SubjectNode):
            return checker.residual(self, self.operand)
        subject = checker.subject(self.operand)
        if subject.type is not None and subject.type.kind not in (Kind.IP, Kind.STRING):
            checker.fail(f"{subject.name} is {named(subject.type.element)}, not an ip address", self.operand.span)
        for network in self.networks:
            reason = refusal(network_keys, network)
            if reason is not None:
                checker.fail(reason, self.span, "write a network such as '10.0.0.0/8' or '2001:db8::/32'")
        return Atom(self, self, subject.elements(Kind.IP), subject.quantifier)

    def holds(self, value: Any) -> Truth:
        """Compare with the first and last address of every network."""
        if value is None:
            return None
        address = address_number(value)
        for text in self.networks:
            network = ipaddress.ip_network(text)
            if address_number(network[0]) <= address <= address_number(network[-1]):
                return True
        return False

    def values(self, kind: Kind, positive: bool) -> Values:
        """One interval for each network, or the rest."""
        inside: Values = of_intervals([_interval(text) for text in self.networks])
        return inside if positive else complement(inside)

    def phrase(self) -> str:
        """`in 10.0.0.0/8`."""
        return f"in {' or '.join(self.networks[:_SHOWN])}"


def _interval(text: str) -> tuple[bytes | None, bytes | None]:
    """The keys from the first address up to the one after the last; None where there is no bound."""
    first, last = network_keys(text)
    if first == last:  # as `=` has it
        return first, above(Kind.IP, ipaddress.IPv6Address(last))
    following = int.from_bytes(last) + 1
    return (first if first != LOWEST[Kind.IP] else None), (None if following >> 128 else following.to_bytes(16))
