"""Parses the values and operators in the list of a field, each checked as event-ruler does."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple
from typing import Literal as OneOf

from vedette.language.documents.json_numbers import canonical, comparable
from vedette.language.documents.json_reader import Node, NumberText, ObjectPairs, PatternError
from vedette.language.documents.nodes import (
    MISSING,
    FieldTest,
    LeafAddress,
    LeafAnythingBut,
    LeafConstant,
    LeafEquals,
    LeafExists,
    LeafInNetwork,
    LeafRange,
    LeafTextTest,
    LeafWildcard,
)
from vedette.language.hints import similar
from vedette.schema.keys import read_ip

_ONE_KEY: Final = "Only one key allowed in match expression"
_TOO_MANY: Final = "Too many elements in numeric expression"
_ADDRESS: Final = re.compile(r"[0-9]+(?:\.[0-9]+){3}|[0-9a-fA-F:]*:[0-9a-fA-F:]*")  # the addresses that AWS accepts
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,9}")


def tests(values: list[Node], where: str) -> tuple[FieldTest, ...]:
    """Parse the list of a field."""
    if not values:
        raise PatternError(
            "the list of a field needs a value",
            where=where,
            said="Empty arrays are not allowed",
            hint='for a field that is not there, write [{"exists": false}]',
        )
    return tuple(_test(value, f"{where}[{index}]") for index, value in enumerate(values))


def _test(value: Node, where: str) -> FieldTest:
    if isinstance(value, ObjectPairs):
        return _operator(value, where)
    if isinstance(value, list):
        raise PatternError(
            "a list inside the list of a field",
            where=where,
            said="Match value must be String, number, true, false, or null",
            hint="leave the inner brackets out: an event's list fits if one of its elements does",
        )
    if isinstance(value, str) and not isinstance(value, NumberText):
        return LeafAddress(value) if _ADDRESS.fullmatch(value) and _is_address(value) else LeafEquals(value)
    return _constant(value)


def _constant(value: NumberText | bool | None) -> LeafConstant:
    if isinstance(value, NumberText):
        return LeafConstant(canonical(value) or value)
    return LeafConstant("null" if value is None else "true" if value else "false")


def _is_address(text: str) -> bool:
    try:
        read_ip(text)
    except ValueError:
        return False
    return True


class _TestOperand(NamedTuple):
    """The operand of an operator, and its place."""

    value: Node
    where: str

    def error(self, message: str, said: str | None = None, hint: str | None = None) -> PatternError:
        return PatternError(message, where=self.where, said=said, hint=hint)

    def text(self, said: str) -> str:
        """The operand as a string."""
        if isinstance(self.value, str) and not isinstance(self.value, NumberText):
            return self.value
        name = self.where.rpartition(".")[2]
        several = f'alternatives are objects of their own: [{{"{name}": …}}, {{"{name}": …}}]'
        raise self.error("expected a string", said, several if isinstance(self.value, list) else None)


def _first_pair(tree: ObjectPairs, where: str, missing: str) -> tuple[str, _TestOperand]:
    """The operator of an object and its operand."""
    if not tree.pairs:
        raise PatternError("an object without an operator", where=where, said=missing)
    name, value = tree.pairs[0]
    return name, _TestOperand(value, f"{where}.{name}")


def _no_more(tree: ObjectPairs, where: str, said: str) -> None:
    """Refuse an object with several operators."""
    if len(tree.pairs) > 1:
        (name, _), (other, _), *_ = tree.pairs
        raise PatternError(
            f"one operator per object, found {name!r} and {other!r}",
            where=where,
            said=said,
            hint=f'alternatives are objects of their own: [{{"{name}": …}}, {{"{other}": …}}]',
        )


def _operator(tree: ObjectPairs, where: str) -> FieldTest:
    name, place = _first_pair(tree, where, "Match expression name not found")
    if name not in OPERATORS:
        near = similar(name, OPERATORS)
        raise PatternError(
            f"{name!r} is no operator",
            where=where,
            said=f"Unrecognized match type {name}",
            hint=f"did you mean {near!r}?" if near else f"there are {', '.join(DOCUMENTED)}, and $or above a list",
        )
    found = OPERATORS[name](place)
    _no_more(tree, where, _TOO_MANY if name in ("numeric", "anything-but") else _ONE_KEY)
    return found


# ---------------------------------------------------------------- strings


def _exactly(place: _TestOperand) -> LeafEquals:
    return LeafEquals(place.text("exact match pattern must be a string"))


def _affix(side: OneOf["prefix", "suffix"], place: _TestOperand) -> LeafTextTest:
    """Parse a string, or {"equals-ignore-case": string}."""
    if not isinstance(place.value, ObjectPairs):
        return LeafTextTest(side, place.text(f"{side} match pattern must be a string"))
    name, inner = _first_pair(place.value, place.where, f"{side.capitalize()} expression name not found")
    if name != "equals-ignore-case":
        raise place.error(f"{side} knows no {name!r}", f"Unsupported {side} pattern: {name}")
    text = inner.text("equals-ignore-case match pattern must be a string")
    _no_more(place.value, place.where, _ONE_KEY)
    return LeafTextTest(side, text, ignore_case=True)


def _prefix(place: _TestOperand) -> LeafTextTest:
    return _affix("prefix", place)


def _suffix(place: _TestOperand) -> LeafTextTest:
    return _affix("suffix", place)


def _equals_ignore_case(place: _TestOperand) -> LeafTextTest:
    return LeafTextTest("equals", place.text("equals-ignore-case match pattern must be a string"), ignore_case=True)


def _wildcard(place: _TestOperand) -> LeafWildcard:
    """Parse a wildcard: `*` is any text; `\\*` and `\\\\` are an asterisk and a backslash."""
    text = place.text("wildcard match pattern must be a string")
    pieces, at = [""], 0
    while at < len(text):
        here, following = text[at], text[at + 1 : at + 2]
        # event-ruler counts the bytes of the text in quotes
        position = len(text[:at].encode()) + 1
        if here == "*":
            if following == "*":
                raise place.error(
                    "two wildcards side by side",
                    f"Consecutive wildcard characters at pos {position}",
                    "one * is any text already; \\* is an asterisk",
                )
            pieces.append("")
        elif here == "\\":
            if following not in ("*", "\\"):
                raise place.error(
                    f"'\\{following}' is no escape: a backslash stands before * or \\",
                    f"Invalid escape character at pos {position}",
                    "a backslash itself is \\\\, in JSON \\\\\\\\",
                )
            pieces[-1] += following
            at += 1
        else:
            pieces[-1] += here
        at += 1
    return LeafWildcard(tuple(pieces))


# ---------------------------------------------------------------- numbers, addresses, existence


def _numeric(place: _TestOperand) -> LeafRange:
    """Parse [operator, number] or [> or >=, number, < or <=, number]."""
    parts = place.value
    if not isinstance(parts, list):
        raise place.error("expected a list", "Value of numeric must be an array.", 'write [">", 0, "<=", 5]')
    operator = _sign(parts[0], place, "Invalid member in numeric match: ") if parts else None
    if operator is None:
        raise place.error("an empty list", "Invalid member in numeric match: ]", 'write [">", 0, "<=", 5]')
    if operator not in ("=", "<", "<=", ">", ">="):
        raise place.error(f"{operator!r} is none of = < <= > >=", f"Unrecognized numeric range operator: {operator}")
    first = _number(parts, 1, operator, place)
    if operator not in (">", ">="):
        if len(parts) > 2:
            raise place.error(
                f"nothing can follow {operator!r} and its number", _TOO_MANY, "> or >= comes before < or <="
            )
        if operator == "=":
            return LeafRange(first, first)
        return LeafRange(None, first, high_closed=operator == "<=")
    if len(parts) == 2:
        return LeafRange(first, None, low_closed=operator == ">=")
    second = _sign(parts[2], place, "Bad value in numeric range: ")
    if second not in ("<", "<="):
        raise place.error(f"after {operator!r} comes < or <=, not {second!r}", f"Bad numeric range operator: {second}")
    last = _number(parts, 3, second, place)
    if len(parts) > 4:
        raise place.error("a range has two ends", "Too many terms in numeric range expression")
    if not first < last:
        raise place.error(
            f"a range goes from a smaller to a larger number, {parts[1]} is not below {parts[3]}",
            "Bottom must be less than top",
        )
    return LeafRange(first, last, operator == ">=", second == "<=")


def _sign(part: Node, place: _TestOperand, said: str) -> str:
    if isinstance(part, str) and not isinstance(part, NumberText):
        return part
    shown = {list: "[", ObjectPairs: "{", bool: "true" if part else "false"}.get(type(part), str(part or "null"))
    raise place.error("expected one of the strings = < <= > >=", said + shown)


def _number(parts: list[Node], index: int, operator: str, place: _TestOperand) -> float:
    part = parts[index] if index < len(parts) else None
    if not isinstance(part, NumberText):
        words = "equals" if operator == "=" else operator
        raise place.error(f"{operator!r} needs a number", f"Value of {words} must be numeric")
    found = comparable(part)
    if found is None:
        raise place.error(f"{part} is no 64-bit float", f"Cannot compare number : {part}")
    return found


def _cidr(place: _TestOperand) -> LeafInNetwork:
    text = place.text("prefix match pattern must be a string")  # as event-ruler has it
    address, slash, bits = text.partition("/")
    if not slash or "/" in bits:
        raise place.error(
            "expected an address, / and a number of bits",
            "Malformed CIDR, one '/' required",
            "a single address is a value",
        )
    if not _INTEGER.fullmatch(bits):
        raise place.error(f"{bits!r} is no number of bits", "Malformed CIDR, mask bits must be an integer")
    if int(bits) < 0:
        raise place.error(f"{bits} bits", "Malformed CIDR, mask bits must not be negative")
    if not _ADDRESS.fullmatch(address):
        raise place.error(f"{address!r} is no IP address", f"Nonstandard IP address: {address}")
    try:
        found = read_ip(address)
    except ValueError:
        raise place.error(f"{address!r} is no IP address", f"Invalid IP address: {address}") from None
    version = 4 if found.version == 4 or found.ipv4_mapped is not None else 6
    most = 32 if version == 4 else 128
    if int(bits) >= most:
        raise place.error(
            f"a network of IPv{version} has fewer than {most} bits",
            f"IPv{version} mask bits must be < {most}",
            f'a single address is a value: ["{address}"]',
        )
    return LeafInNetwork(str(ipaddress.ip_network(f"{address}/{int(bits)}", strict=False)))


def _exists(place: _TestOperand) -> FieldTest:
    if not isinstance(place.value, bool):
        quoted = "without quotes" if place.value in ("true", "false") else None
        raise place.error("expected true or false", "exists match pattern must be either true or false.", quoted)
    return LeafExists() if place.value else MISSING


# ---------------------------------------------------------------- anything-but


def _anything_but(place: _TestOperand) -> LeafAnythingBut:
    """Parse a string, a number, a list of either, or one operator of strings over one string or several."""
    value = place.value
    if isinstance(value, ObjectPairs):
        name, inner = _first_pair(value, place.where, "Anything-But expression name not found")
        if name not in _EXCLUDING:
            raise place.error(
                f"anything-but knows no {name!r}",
                f"Unsupported anything-but pattern: {name}",
                f"there are {', '.join(_EXCLUDING)}",
            )
        excluded = _excluded(name, inner)
        _no_more(value, place.where, _TOO_MANY)
        return LeafAnythingBut(excluded)
    if isinstance(value, list):
        kinds = {_kind_excluded(one, place, "Inside anything but list") for one in value}
        if len(kinds) != 1:
            raise place.error(
                "the list is empty" if not kinds else "strings and numbers in one list",
                "Inside anything but list, either all values are number or string, mixed type is not supported",
                None if not kinds else "use a list of strings, or a list of numbers",
            )
        return LeafAnythingBut(tuple(_value_excluded(one, place) for one in value))
    if value is None or isinstance(value, bool):
        raise place.error(
            "expected a string, a number or a list of them",
            "Value of anything-but must be an array or single string/number value.",
        )
    return LeafAnythingBut((_value_excluded(value, place),))


def _kind_excluded(value: Node, place: _TestOperand, words: str) -> type:
    if not isinstance(value, str):
        raise place.error(
            "a list of anything-but has strings or numbers", f"{words}, start|null|boolean is not supported."
        )
    return type(value)


def _value_excluded(value: Node, place: _TestOperand) -> LeafEquals | LeafConstant:
    if isinstance(value, NumberText):
        if comparable(value) is None:
            raise place.error(f"{value} is no 64-bit float", f"Cannot compare number : {value}")
        return _constant(value)
    return LeafEquals(str(value))


def _excluded(name: str, place: _TestOperand) -> tuple[LeafTextTest | LeafWildcard, ...]:
    single = not isinstance(place.value, list)
    values = place.value if isinstance(place.value, list) else [place.value]
    if single and not isinstance(place.value, str):
        raise place.error(
            "expected a string or a list of strings",
            "Value of anything-but must be an array or single string/number value.",
        )
    if not values:
        raise place.error("the list is empty")
    said = _SAID_OF_EXCLUDED.get(name, "prefix/suffix match pattern must be a string")
    found = []
    for index, value in enumerate(values):
        one = place if single else _TestOperand(value, f"{place.where}[{index}]")
        text = one.text(said)
        if not text and name in ("prefix", "suffix"):
            raise one.error(f"an empty {name} excludes every string", "Null prefix/suffix not allowed")
        found.append(_EXCLUDING[name](_TestOperand(text, one.where)))
    return tuple(found)


_SAID_OF_EXCLUDED: Final = {
    "equals-ignore-case": ("Inside anything-but/equals-ignore-case list, number|start|null|boolean is not supported."),
    "wildcard": "wildcard match pattern must be a string",
}
_EXCLUDING: Final[Mapping[str, Callable[[_TestOperand], LeafTextTest | LeafWildcard]]] = {
    "prefix": _prefix,
    "suffix": _suffix,
    "equals-ignore-case": _equals_ignore_case,
    "wildcard": _wildcard,
}

OPERATORS: Final[Mapping[str, Callable[[_TestOperand], FieldTest]]] = {
    "exactly": _exactly,  # not documented, but event-ruler has it
    "prefix": _prefix,
    "suffix": _suffix,
    "equals-ignore-case": _equals_ignore_case,
    "wildcard": _wildcard,
    "anything-but": _anything_but,
    "numeric": _numeric,
    "cidr": _cidr,
    "exists": _exists,
}
DOCUMENTED: Final = tuple(name for name in OPERATORS if name != "exactly")
