"""Cases with a name: a publication, a subscription, and the directions in which they meet."""

from __future__ import annotations

from typing import NamedTuple

from vedette.schema.schema import Schema

SCHEMA = Schema.of(
    {
        "topic": "string",
        "lot": "int",
        "price": "float",
        "x": "int",
        "y": "int",
        "f": "float",
        "s": "string",
        "b": "bool",
        "t": "timestamp",
        "d": "date",
        "a": "ip",
        "p": "point",
        "z": "region",
        "tags": "list of string",
        "ns": "list of int",
    }
)
P, S, O = "publication", "subscription", "open"  # noqa: E741
ALWAYS, NEVER = (P, S, O), ()


class NamedCase(NamedTuple):
    """Two constraints, and in which directions they meet."""

    name: str
    publication: str
    subscription: str
    meet_in: tuple[str, ...]

    @property
    def relational(self) -> bool:
        """Whether the relations of the paper can speak of it: they have no lists, rectangles and floats only."""
        texts = f"{self.publication} {self.subscription} "
        return not any(word in texts for word in ("tags", "ns ", "(ns)", " of point", "POLYGON", "9007199254740993"))


def _same(name: str, one: str, other: str, meet: bool) -> list[NamedCase]:
    """Both have the same attributes, so neither the direction nor who is who makes a difference."""
    found = ALWAYS if meet else NEVER
    return [NamedCase(name, one, other, found), NamedCase(f"{name}, the other way round", other, one, found)]


_PENCILS = "topic = 'pencils' and lot between 1000 and 10000 and price = 1.00"
_BUYER = "topic = 'pencils' and lot >= 5000 and price <= 1.10"
_BOX, _BESIDE = "p within region box(0, 0, 2, 2)", "p within region box(2, 0, 4, 2)"
_RING = "p within region 'POLYGON((0 0, 9 0, 9 9, 0 9, 0 0), (3 3, 6 3, 6 6, 3 6, 3 3))'"

CASES = [
    *_same("pencils", _PENCILS, _BUYER, True),
    *_same("pencils that cost too much", _PENCILS.replace("1.00", "1.11"), _BUYER, False),
    *_same("not enough pencils", _PENCILS.replace("10000", "4999"), _BUYER, False),
    *_same("pens", _PENCILS.replace("pencils", "pens"), _BUYER, False),
    NamedCase("the subscription asks for more", "x = 1", "x = 1 and y = 1", (P, O)),
    NamedCase("the publication says more", "x = 1 and y = 1", "x = 1", (S, O)),
    NamedCase("nothing in common", "x = 1", "y = 1", (O,)),
    NamedCase("some attributes in common, which agree", "x = 1 and y = 1", "x = 1 and f = 1", (O,)),
    NamedCase("some attributes in common, which do not", "x = 1 and y = 1", "x = 2 and f = 1", NEVER),
    *_same("half spaces open to one side", "x > 5", "x > 100", True),
    *_same("half spaces open to both sides", "x > 5", "x < 100", True),
    *_same("half spaces apart", "x < 5", "x >= 5", False),
    *_same("half spaces that share their end", "x <= 5", "x >= 5", True),
    *_same("a half space and all but one", "x >= 5", "x != 5", True),
    *_same("the last integer and all but that", "x >= 9223372036854775807", "x != 9223372036854775807", False),
    *_same("all but one, and all but another", "x != 5", "x != 6", True),
    *_same("not equal", "x != 5", "x = 5", False),
    NamedCase("a disjunct with more attributes meets more", "x = 1 and y = 1", "x = 1 or x = 1 and y = 1", ALWAYS),
    NamedCase("which one with fewer does not", "x = 1 and y = 1", "x = 1", (S, O)),
    NamedCase("a disjunct with fewer attributes", "x = 1 or x = 1 and y = 1", "x = 1", ALWAYS),
    NamedCase("alternatives, one of which", "x = 1 or y = 2", "y = 2 and x = 5", (P, O)),
    NamedCase("alternatives, none of which", "x = 1 or y = 2", "y = 3 and x = 5", NEVER),
    NamedCase("both alternatives are one pair", "x = 1 or x = 2", "x = 2 or x = 1", ALWAYS),
    NamedCase("true is published", "true", "x = 1", (P, O)),
    NamedCase("true is subscribed to", "x = 1", "true", (S, O)),
    NamedCase("true on both sides", "true", "true", ALWAYS),
    NamedCase("true or something", "true or x = 1", "x = 2", (P, O)),
    NamedCase("a constant that is true", "1 = 1 and x = 1", "x = 1", ALWAYS),
    *_same("nothing lies between integers", "x > 1 and x < 3", "x != 2", False),
    *_same("nothing lies between neighbours, for integers", "x >= 1 and x < 2", "x > 1", False),
    *_same("much lies between them, for floats", "f >= 1 and f < 2", "f > 1", True),
    *_same("integers below a half", "x < 2.5", "x > 1.5", True),
    *_same("integers between two halves", "x > 2.1", "x < 2.9", False),
    *_same("neighbours among floats", "f > 1", "f < 1.0000000000000002", False),
    *_same("neighbours but one among floats", "f > 1", "f < 1.0000000000000004", True),
    *_same("zeros", "f = 0.0", "f = -0.0", True),
    *_same("right below zero", "f > -5e-324", "f < 0", False),
    *_same("not a number is above infinity", "f > float 'inf'", "f = float 'nan'", True),
    *_same("not a number is not below it", "f <= float 'inf'", "f = float 'nan'", False),
    *_same("an integer that no float is", "f >= 9007199254740993", "f <= 9007199254740993", True),
    *_same("an integer that no float is, and the float below", "f = 9007199254740993", "f = 9007199254740992", False),
    *_same("an integer that no float is, left out", "f != 9007199254740993", "f = 9007199254740992", True),
    *_same("truth and itself", "b", "b = true", True),
    *_same("truth and its opposite", "b", "not b", False),
    *_same("between false and true is nothing", "b > false", "b < true", False),
    *_same("not true may be missing", "b is not true", "b is null", True),
    *_same("not true is false or missing", "b is not true", "b is true", False),
    *_same("null and null", "x is null", "x is null", True),
    *_same("null and a value", "x is null", "x = 1", False),
    *_same("null and any value", "x is null", "x is not null", False),
    *_same("null is among those that differ", "x is null", "x is distinct from 1", True),
    *_same("null is not among those not equal", "x is null", "x != 1", False),
    *_same("null, of a place", "p is null", _BOX, False),
    *_same("presence, of a place", "p is not null", _BOX, True),
    *_same("null, of a list", "tags is null", "any(tags) = 'x'", False),
    *_same("presence, of a list", "tags is not null", "any(tags) = 'x'", True),
    *_same("the empty text is the first", "s < 'a'", "s = ''", True),
    *_same("nothing lies between a text and its successor", "s > 'a'", "s < 'a\0'", False),
    *_same("a text and those that begin with it", "s > 'a'", "s < 'ab'", True),
    *_same("texts are by code point: above the letters", "s > 'z'", "s = 'é'", True),
    *_same("texts are by code point, not by UTF-16", "s > '\uffee'", "s = '😀'", True),
    *_same("accents count", "s = 'é'", "s = 'e\u0301'", False),
    *_same("case counts", "s = 'A'", "s = 'a'", False),
    *_same("a beginning", "s like 'ab%'", "s = 'abc'", True),
    *_same("another beginning", "s like 'ab%'", "s = 'ac'", False),
    *_same("a beginning and a longer one", "s like 'a%'", "s like 'ab%'", True),
    *_same("beginnings apart", "s like 'aa%'", "s like 'ab%'", False),
    *_same("no beginning and a longer one", "s not like 'a%'", "s like 'ab%'", False),
    *_same("no longer beginning", "s like 'a%'", "s not like 'ab%'", True),
    *_same("a beginning of ÿ", "s like 'ÿ%'", "s >= 'Ā'", False),
    *_same("a beginning that ends in the last character", "s like 'a\U0010ffff%'", "s >= 'b'", False),
    *_same("behind a beginning that ends in the last character", "s not like 'a\U0010ffff%'", "s >= 'b'", True),
    *_same("a beginning with a percent sign", "s like '100\\%%'", "s = '100% sure'", True),
    *_same("moments in two zones", "t = '2024-05-01T12:00:00Z'", "t = '2024-05-01T14:00:00+02:00'", True),
    *_same("a day as a moment", "t >= date '2024-05-02'", "t < '2024-05-02T00:00:00.000001'", True),
    *_same("microseconds", "t > '2024-05-01T12:00:00Z'", "t < '2024-05-01T12:00:00.000001Z'", False),
    *_same("days", "d > '2024-05-01'", "d < '2024-05-03'", True),
    *_same("neighbouring days", "d > '2024-05-01'", "d < '2024-05-02'", False),
    *_same("days after noon", "d > timestamp '2024-05-01T12:00:00'", "d <= '2024-05-01'", False),
    *_same("an address in a network", "a in cidr '10.0.0.0/8'", "a = '10.255.255.255'", True),
    *_same("an address beside a network", "a in cidr '10.0.0.0/8'", "a = '11.0.0.0'", False),
    *_same("a network in a network", "a in cidr '10.0.0.0/8'", "a in cidr '10.1.0.0/16'", True),
    *_same("networks side by side", "a in cidr '10.0.0.0/9'", "a in cidr '10.128.0.0/9'", False),
    *_same("outside of a network", "a not in cidr '10.0.0.0/8'", "a in cidr '10.1.0.0/16'", False),
    *_same("neighbouring addresses", "a > '10.0.0.1'", "a < '10.0.0.2'", False),
    *_same("an address in both families", "a = '::ffff:10.0.0.1'", "a in cidr '10.0.0.0/8'", True),
    *_same("elements may be different ones", "any(ns) = 1", "any(ns) = 2", True),
    *_same("no elements have every property", "all(ns) = 1", "all(ns) = 2", True),
    *_same("one element that may not be there", "any(ns) = 1", "all(ns) > 1", False),
    *_same("one element that may", "any(ns) = 2", "all(ns) > 1", True),
    *_same("none of them", "not any(ns) in (1, 2)", "any(ns) = 2", False),
    *_same("not all of them", "not all(ns) > 5", "any(ns) = 9", True),
    *_same("a list that contains", "tags contains 'x'", "all(tags) like 'x%'", True),
    *_same("a list that contains something else", "tags contains 'x'", "all(tags) like 'y%'", False),
    *_same("an element that is null", "any(ns) is null", "all(ns) is not null", False),
    *_same("discs", "p within 100 km of point(0, 0)", "p within 100 km of point(1, 0)", True),
    *_same("discs apart", "p within 50 km of point(0, 0)", "p within 50 km of point(1, 0)", False),
    *_same("a disc without extent", "p within 0 m of point(1, 1)", _BOX, True),
    *_same("a disc that reaches a region", "p within 120 km of point(3, 1)", _BOX, True),
    *_same("a disc that does not", "p within 100 km of point(3, 1)", _BOX, False),
    *_same("regions that share a side", _BOX, _BESIDE, True),
    *_same("regions apart", _BOX, "p within region box(3, 0, 4, 2)", False),
    *_same("a region in the hole of another", _RING, "p within region box(4, 4, 5, 5)", False),
    *_same("a disc in the hole", _RING, "p within 100 km of point(4.5, 4.5)", False),
    *_same("a disc that reaches beyond the hole", _RING, "p within 180 km of point(4.5, 4.5)", True),
    *_same("a region inside another", _RING, "p within region box(1, 1, 2, 2)", True),
    *_same("regions of regions", _BOX.replace("p ", "z "), _BESIDE.replace("p ", "z "), True),
    *_same("regions of regions apart", _BOX.replace("p ", "z "), "z within region box(3, 0, 4, 2)", False),
]
