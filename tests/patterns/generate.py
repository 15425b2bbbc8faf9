"""Random patterns and random streams: small alphabets, so that much matches, and much almost matches."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from vedette.schema.schema import Schema

SCHEMA = Schema.of(
    {"time": "timestamp", "kind": "string", "u": "int", "v": "int", "f": "float", "s": "string", "r": "string"}
)
_KINDS = "abc"
_NUMBERS = ("u", "v", "f")  # attributes that may meet in one variable
_TEXTS = ("s", "r")
_NULL = 0.12
_PLACE = "@ (?)"  # where conditions go once all labels are known


def stream(random: Random, length: int) -> list[dict[str, Any]]:
    """Events in the order of time, some at one time, some far apart, some with nothing where a value might be.

    The first has a time: a matcher refuses a first batch in which no event has one.
    """
    clock = random.choice([0, 3])
    events: list[dict[str, Any]] = []
    for _ in range(length):
        clock += random.choice([0, 0, 1, 1, 1, 2, 4])
        values = {
            "time": clock,
            "kind": random.choice(_KINDS),
            "u": random.randrange(3),
            "v": random.randrange(3),
            "f": random.choice([0.0, -0.0, 1.0, 1.5, 2.0]),
            "s": random.choice("xy"),
            "r": random.choice("xy"),
        }
        for name in values:
            if random.random() < (0.04 if name == "time" else _NULL) and (events or name != "time"):
                values[name] = None
        events.append({name: value for name, value in values.items() if value is not None or random.random() < 0.5})
    return events


def shuffled(random: Random, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same events, some of them a few places later than they happened; the first stays, for its time."""
    places = [number + random.choice([0, 0, 0, 0, 2.5, 4.5]) for number in range(len(events))]
    places[:1] = [0]
    return [events[number] for number in sorted(range(len(events)), key=places.__getitem__)]


def cuts(random: Random, length: int) -> list[tuple[int, int]]:
    """Batches that a stream is cut into: some empty, some of one event."""
    places = sorted(random.randint(0, length) for _ in range(random.randint(0, 5)))
    return list(zip([0, *places], [*places, length], strict=True))


class Written(NamedTuple):
    """A sub-pattern, the variables that it surely binds, and how many steps it has, written out."""

    text: str
    binds: frozenset[str]
    steps: int


class Writer:
    """Writes one random pattern."""

    def __init__(self, random: Random, *, most_steps: int = 7) -> None:
        self.random = random
        self.most_steps = most_steps
        self.labels: list[str] = []
        # Every step of such a pattern binds one variable by one attribute: it is partitioned by it.
        self.shared = random.choice([*_NUMBERS, *_TEXTS]) if random.random() < 0.15 else None
        self.joins = random.random() < 0.5
        self.begun = False
        self.conditions = random.random() < 0.6

    def pattern(self, window: str | None = None) -> str:
        """The whole, with this window or, sometimes, a random one."""
        while True:
            self.labels, self.begun = [], False
            written = self.part(self.random.choice([1, 2, 2, 3]), frozenset())
            if written.steps <= self.most_steps:
                break
        text = written.text
        while _PLACE in text:
            timed = " and ".join(self.condition() for _ in range(self.random.choice([1, 1, 1, 2])))
            text = text.replace(_PLACE, f"@ ({timed})" if self.labels and self.conditions else "", 1)
        endings = []
        if self.shared is None and self.random.random() < 0.3:
            by = self.random.sample(["kind", *_NUMBERS, *_TEXTS], self.random.choice([1, 1, 2]))
            endings.append(f" by {', '.join(by)}")
        if window is None and self.random.random() < 0.3:
            window = f"{self.random.choice([1, 2, 4, 6, 9])} s"
        if window is not None:
            endings.append(f" within {window}")
        self.random.shuffle(endings)
        return text + "".join(endings)

    # ------------------------------------------------------------ shapes

    def part(self, depth: int, bound: frozenset[str]) -> Written:
        """A sub-pattern of this depth or less; `bound` are the variables that steps before it surely bind."""
        if depth == 0:
            return self.repeated(self.step(bound))
        shape = self.random.choice(["sequence", "sequence", "sequence", "and", "or", "step"])
        if shape == "step":
            return self.part(0, bound)
        if shape == "sequence":
            return self.sequence(depth, bound)
        parts = [self.group(depth - 1, bound) for _ in range(self.random.choice([2, 2, 2, 3]))]
        binds = [part.binds for part in parts]
        surely = frozenset.union(*binds) if shape == "and" else frozenset.intersection(*binds)
        return Written(f" {shape} ".join(part.text for part in parts), surely, sum(part.steps for part in parts))

    def group(self, depth: int, bound: frozenset[str]) -> Written:
        """A sub-pattern that may stand beside others: in parentheses unless it is a step."""
        inner = self.part(depth, bound)
        if depth == 0:
            return inner
        return self.repeated(inner._replace(text=f"({inner.text})"))

    def sequence(self, depth: int, bound: frozenset[str]) -> Written:
        """Parts joined with `,` and `;`, some with absent steps between them."""
        whole = self.group(depth - 1, bound)
        for _ in range(self.random.choice([1, 1, 2, 2, 3])):
            if self.random.random() < 0.4:
                link = " , "
            else:
                count = self.random.choice([0, 0, 0, 0, 1, 2])
                absent = [f"not {self.absent(bound | whole.binds)} ; " for _ in range(count)]
                link = " ; " + "".join(absent)
            part = self.group(depth - 1, bound | whole.binds)
            whole = Written(whole.text + link + part.text, whole.binds | part.binds, whole.steps + part.steps)
        return whole

    def repeated(self, part: Written) -> Written:
        """The part with what may follow it: repetitions and time conditions, in any order."""
        for ending in self.random.sample(["repeat", "condition"], 2):
            if ending == "repeat" and self.random.random() < 0.2 and part.steps <= 3:
                least, most = self.random.choice([(1, 2), (2, 2), (2, 3), (1, 3), (3, 3)])
                times = f"{{{least}}}" if least == most else f"{{{least},{most}}}"
                part = part._replace(text=part.text + times, steps=part.steps * most)
            if ending == "condition" and self.random.random() < 0.3:
                part = part._replace(text=f"{part.text} {_PLACE}")
        return part

    # ------------------------------------------------------------ steps

    def step(self, bound: frozenset[str]) -> Written:
        """One step, with a label more often than not."""
        conjuncts, binds = [self.test()], set()
        if self.shared is not None:
            conjuncts.append(f"{self.shared} = $z")
            binds.add("z")
        # One step binds no other variable, so that there is no doubt by which one the pattern is partitioned.
        if self.joins and (self.begun or self.shared is None) and self.random.random() < 0.6:
            variable = self.random.choice("mn")  # $m is a number, $n a text
            attribute = self.random.choice(_NUMBERS if variable == "m" else _TEXTS)
            if variable in bound and self.random.random() < 0.5:
                conjuncts.append(self.tested(variable))
            elif attribute != self.shared:
                conjuncts.append(self.random.choice([f"{attribute} = $", f"{attribute} = $", "$"]) + variable)
                if conjuncts[-1].startswith("$"):
                    conjuncts[-1] += f" = {attribute}"
                binds.add(variable)
        self.begun = True
        self.random.shuffle(conjuncts)
        label = ""
        if self.random.random() < 0.7:
            self.labels.append(f"l{len(self.labels)}")
            label = f"{self.labels[-1]}:"
        return Written(f"{label}[{' and '.join(conjuncts)}]", frozenset(binds), 1)

    def absent(self, bound: frozenset[str]) -> str:
        """A step that must not happen: its variables have their values already."""
        conjuncts = [self.random.choice([f"kind = '{self.random.choice(_KINDS)}'", self.test()])]
        if self.shared is not None:
            conjuncts.append(f"{self.shared} = $z")
        known = sorted(bound - {"z"})
        if known and self.random.random() < 0.5:
            conjuncts.append(self.tested(self.random.choice(known)))
        return f"[{' and '.join(conjuncts)}]"

    def test(self) -> str:
        """What a step asks of one event."""
        one, other = self.random.sample(_KINDS, 2)
        number = self.random.randrange(3)
        kind = f"kind = '{one}'"
        return self.random.choice(
            [kind] * 6
            + ["true"] * 2
            + [f"kind in ('{one}', '{other}')", f"kind != '{one}'", f"(kind = '{one}' or u > {number})"]
            + [f"u >= {number}", f"not (v = {number} and kind = '{one}')", f"{kind} and v <= {number}"]
            + ["u is null", "u < v", f"f between {number} and 2"]
        )

    def tested(self, variable: str) -> str:
        """A test of a variable that is bound already."""
        if variable == "m":
            attribute = self.random.choice(_NUMBERS)
            compared = f"{attribute} {self.random.choice(['=', '!=', '<', '<=', '>', '>=', '<=>'])} $m"
        else:
            compared = f"{self.random.choice(_TEXTS)} {self.random.choice(['=', '!=', '<=>'])} $n"
        other = self.random.choice([f"kind = '{self.random.choice(_KINDS)}'", "u = 1", "v is null"])
        shapes = ["{0}", "{0}", "{0}", "not ({0})", "({0} or {1})", "not ({0} and {1})", "not ({1} or {0})"]
        return self.random.choice(shapes).format(compared, other)

    # ------------------------------------------------------------ time

    def condition(self) -> str:
        """A time condition on any labels of the pattern."""
        if not self.labels:
            return ""
        one, other = self.random.choice(self.labels), self.random.choice(self.labels)
        if one == other and len(self.labels) > 1 and self.random.random() < 0.9:
            one, other = self.random.sample(self.labels, 2)
        roll = self.random.random()
        if roll < 0.1 or one == other:
            moment = f"timestamp '1970-01-01T00:00:{self.random.randrange(12):02}Z'"
            return f"t({one}) {self.random.choice(['<', '<=', '>', '>=', '!='])} {moment}"
        if roll < 0.25:
            return f"t({one}) {self.random.choice(['<', '<=', '>=', '!=', '='])} t({other})"
        op = self.random.choice(["<"] * 4 + ["<="] * 4 + [">", ">=", "!=", "="])
        length = self.random.choice([0, 1, 1, 2, 2, 3, 3, 4, 4, 5, -1, -3])
        return f"t({one}) - t({other}) {op} {length} s"


def patterns(random: Random, count: int, window: str | None = None) -> list[str]:
    """So many random patterns, with this window if one is given."""
    return [Writer(random).pattern(window) for _ in range(count)]
