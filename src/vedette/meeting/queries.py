"""The queries that find which constraints meet, over the relations of both sides (Tomasic 2006, §3.2).

One query for each type and pair of operators, made by a rule, puts into `intermediate_answer` which attributes of
which two disjuncts meet; a last one counts them. All of it is plain SQL, the same for DuckDB and Spark.

Corrected, against the paper: the last query is grouped by pair of disjuncts, where the printed one is grouped by field
too, so that it never sees more than one of a publication's attributes; it counts different fields, since a set is
several rows of one field; disjuncts without a test are added; and every pair is returned once. The first queries
are grouped by field as well, without which their SELECT is not valid SQL.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from vedette.meeting.direction import Direction, check_direction
from vedette.meeting.relations import FAMILIES, NULL, PRESENT, WITHIN, Relations
from vedette.schema.types import Kind

Counting: TypeAlias = Literal["mended", "as printed"]
End: TypeAlias = tuple[str, bool]  # the column of a bound, and whether it is closed

_DISJUNCTS: Final = "p_id, p_disjunct_id, s_id, s_disjunct_id"
_ENDS: Final[dict[str, tuple[End | None, End | None]]] = {
    "=": (("val", True), ("val", True)),
    "<": (None, ("val", False)),
    "<=": (None, ("val", True)),
    ">": (("val", False), None),
    ">=": (("val", True), None),
    "()": (("val", False), ("val2", False)),
    "(]": (("val", False), ("val2", True)),
    "[)": (("val", True), ("val2", False)),
    "[]": (("val", True), ("val2", True)),
}
# Two open bounds have to leave room for a value: what the upper one has to be above.
_BEHIND: Final[dict[Kind, str]] = {
    Kind.INT: "{low} < {high} - 1",
    Kind.DATE: "{low} < {high} - 1",
    Kind.TIMESTAMP: "{low} < {high} - INTERVAL 1 MICROSECOND",
    Kind.STRING: "{low} || chr(0) < {high}",
}


class Pair(NamedTuple):
    """A type, and the operators of a publication and a subscription."""

    kind: Kind
    published: str
    subscribed: str

    @property
    def name(self) -> str:
        """The name of the pair, for people."""
        return f"{FAMILIES[self.kind].name}: {self.published} with {self.subscribed}"


class Database(Protocol):
    """A database that holds the relations by their names, and runs queries: a connection to DuckDB, a Spark session."""

    def execute(self, query: str, /) -> Any:
        """Run one statement; for a SELECT, return the answer."""


def all_pairs(kinds: Iterable[Kind] = tuple(FAMILIES)) -> list[Pair]:
    """Every pair of operators of every type that may meet."""
    found = []
    for kind in kinds:
        operators = FAMILIES[kind].operators
        found += [Pair(kind, one, other) for one, other in itertools.product(operators, operators)]
    return [pair for pair in found if rule(pair) is not None]


def pairs_in(publications: Relations, subscriptions: Relations) -> list[Pair]:
    """The pairs of `all_pairs` whose operators occur on both sides."""
    found = []
    for kind, family in FAMILIES.items():
        here, there = publications[f"{family.name}_pubs"]["op"], subscriptions[f"{family.name}_subs"]["op"]
        one, other = set(here.unique().to_pylist()), set(there.unique().to_pylist())
        found += [pair for pair in all_pairs((kind,)) if pair.published in one and pair.subscribed in other]
    return found


def rule(pair: Pair) -> str | None:
    """The condition under which rows `p` and `s` of one field meet: empty if they always do; None if they never do."""
    kind, published, subscribed = pair
    both = {published, subscribed}
    if NULL in both:
        return "" if len(both) == 1 else None
    if PRESENT in both:
        return ""
    if published == subscribed == WITHIN:
        return "p.west <= s.east AND s.west <= p.east AND p.south <= s.north AND s.south <= p.north"
    if "!=" in both:
        # Whatever is neither a single value nor the lack of one has two values or more.
        return "p.val <> s.val" if "=" in both else ""
    if both == {"="}:
        return "p.val = s.val"
    (p_low, p_high), (s_low, s_high) = _ENDS[published], _ENDS[subscribed]
    tests = (_reaches(kind, "p", p_low, "s", s_high), _reaches(kind, "s", s_low, "p", p_high))
    return " AND ".join(test for test in tests if test)


def _reaches(kind: Kind, one: str, low: End | None, other: str, high: End | None) -> str:
    """The condition that a lower bound leaves something below an upper one; empty if a half space has none."""
    if low is None or high is None:
        return ""
    names = {"low": f"{one}.{low[0]}", "high": f"{other}.{high[0]}"}
    if low[1] and high[1]:
        return "{low} <= {high}".format(**names)
    if low[1] or high[1]:
        return "{low} < {high}".format(**names)
    return _BEHIND[kind].format(**names)


# ---------------------------------------------------------------- §3.2.1: which attributes meet


def matching(pair: Pair) -> str:
    """The query of one type and pair of operators."""
    name, condition = FAMILIES[pair.kind].name, rule(pair)
    if condition is None:
        raise ValueError(f"{pair.name}: these never meet")
    return (
        f"SELECT {_DISJUNCTS}, p.field AS field, COUNT(p.field) AS count\n"
        f"FROM {name}_pubs p, {name}_subs s\n"
        f"WHERE p.op = '{pair.published}' AND s.op = '{pair.subscribed}' AND p.field = s.field"
        f"{condition and f' AND {condition}'}\n"
        f"GROUP BY {_DISJUNCTS}, p.field"
    )


_EMPTY: Final = (
    f"SELECT {_DISJUNCTS}, field, 0 AS count FROM (SELECT p.id AS p_id, p.disjunct_id AS p_disjunct_id, s.id AS s_id,"
    " s.disjunct_id AS s_disjunct_id, '' AS field FROM pub_master p, sub_master s WHERE 1 = 0) nobody"
)

# ---------------------------------------------------------------- §3.2.2: which disjuncts, and so constraints, meet

AS_PRINTED: Final = """\
SELECT p_id, s_id
FROM intermediate_answer agg, pub_master pm
WHERE agg.p_id = pm.id AND agg.p_disjunct_id = pm.disjunct_id
GROUP BY agg.field, agg.p_id, agg.p_disjunct_id, agg.s_id, agg.s_disjunct_id, pm.count
HAVING SUM(agg.count) = pm.count"""

_COUNTED: Final = f"""\
SELECT {_DISJUNCTS}, COUNT(DISTINCT field) AS fields
FROM intermediate_answer
GROUP BY {_DISJUNCTS}"""

_WITHIN: Final = """\
SELECT agg.p_id, agg.s_id
FROM ({counted}) agg
JOIN {side}_master m ON agg.{letter}_id = m.id AND agg.{letter}_disjunct_id = m.disjunct_id
WHERE agg.fields = m.count
UNION
SELECT p.id AS p_id, s.id AS s_id
FROM pub_master p CROSS JOIN sub_master s
WHERE {letter}.count = 0"""

_OPEN: Final = """\
SELECT DISTINCT p.id AS p_id, s.id AS s_id
FROM pub_master p
CROSS JOIN sub_master s
LEFT JOIN ({shared}) common ON common.p_id = p.id AND common.p_disjunct_id = p.disjunct_id
    AND common.s_id = s.id AND common.s_disjunct_id = s.disjunct_id
LEFT JOIN ({counted}) agg ON agg.p_id = p.id AND agg.p_disjunct_id = p.disjunct_id
    AND agg.s_id = s.id AND agg.s_disjunct_id = s.disjunct_id
WHERE COALESCE(common.fields, 0) = COALESCE(agg.fields, 0)"""


def counting(direction: Direction = "publication", how: Counting = "mended") -> str:
    """The last query: pairs of ids, each once except in the printed form, which has one direction only."""
    check_direction(direction)
    if how == "as printed":
        return AS_PRINTED
    if direction == "open":
        return _OPEN.format(counted=_COUNTED, shared=_shared())
    side, letter = ("pub", "p") if direction == "publication" else ("sub", "s")
    return _WITHIN.format(counted=_COUNTED, side=side, letter=letter)


def _shared() -> str:
    """The number of attributes that two disjuncts have in common."""
    names = [family.name for family in FAMILIES.values()]
    pubs, subs = (
        " UNION ALL ".join(f"SELECT {side[0]}_id, {side[0]}_disjunct_id, field FROM {name}_{side}" for name in names)
        for side in ("pubs", "subs")
    )
    return (
        f"SELECT {_DISJUNCTS}, COUNT(DISTINCT p.field) AS fields FROM ({pubs}) p JOIN ({subs}) s ON p.field = s.field"
        f" GROUP BY {_DISJUNCTS}"
    )


# ---------------------------------------------------------------- all of it


def queries(
    pairs: Sequence[Pair] | None = None, direction: Direction = "publication", how: Counting = "mended"
) -> Iterator[tuple[str, str]]:
    """Names and texts of all queries, in the order in which they are issued; the last one gives the answer."""
    yield "begin", f"CREATE OR REPLACE TABLE intermediate_answer AS {_EMPTY}"
    for pair in all_pairs() if pairs is None else pairs:
        yield pair.name, f"INSERT INTO intermediate_answer\n{matching(pair)}"
    yield "count", counting(direction, how)


def single_query(pairs: Sequence[Pair] | None = None, direction: Direction = "publication") -> str:
    """The same as one query, for engines where tables cannot be written."""
    parts = [_EMPTY, *(matching(pair) for pair in (all_pairs() if pairs is None else pairs))]
    return "\n".join(("WITH intermediate_answer AS (", "\nUNION ALL\n".join(parts), ")", counting(direction)))


def issue(
    database: Database,
    pairs: Sequence[Pair] | None = None,
    direction: Direction = "publication",
    how: Counting = "mended",
) -> Any:
    """Issue all queries; return the answer of the last one."""
    answer: Any = None
    for _, query in queries(pairs, direction, how):
        answer = database.execute(query)
    return answer
