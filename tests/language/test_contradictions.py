"""What is said to contradict itself does, for every value that could satisfy it."""

from __future__ import annotations

import re
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from vedette.language.check import check
from vedette.language.checked_tree import Part
from vedette.language.contradictions import Contradictions
from vedette.language.evaluate import truth
from vedette.language.normalise import normal_form
from vedette.language.parser import parse

EVENTS = [{"x": x, "y": y} for x, y in product((None, 0, 1, 2, 3), repeat=2)]

tests = st.builds(
    "{} {} {}".format, st.sampled_from("xy"), st.sampled_from(["=", "!=", "<", ">=", "<=>"]), st.sampled_from([1, 2])
)
null_tests = st.builds("{} is null".format, st.sampled_from("xy"))


def joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(parts, min_size=2, max_size=4)
    return st.one_of(
        several.map(lambda some: f"({' and '.join(some)})"),
        several.map(lambda some: f"({' or '.join(some)})"),
        parts.map("not ({})".format),
    )


@given(st.recursive(st.one_of(tests, null_tests), joined, max_leaves=8))
def test_every_reason_is_one_and_no_filter_that_never_matches_is_without(text: str) -> None:
    checked = check(parse(text), None, text)
    assert checked.root is not None
    numbers: list[Part] = []

    def number(part: Part) -> str:
        numbers.append(part)
        return f"<{len(numbers) - 1}>"

    found = Contradictions(lambda part, positive: normal_form(part, positive, 10_000), number, lambda atom: "")
    matches = any(truth(checked.root, event) for event in EVENTS)
    if not found.never(checked.root, True):
        assert matches
        return
    assert not matches
    why = found.why(checked.root)
    assert why is not None
    for reason in re.sub(r"; and \d+ more$", "", why).split("; "):
        wanted = not reason.endswith("be false")
        named = [(not negated, numbers[int(n)]) for negated, n in re.findall(r"(not \(?)?<(\d+)>", reason)]
        for event in EVENTS:
            assert not all(truth(part, event) is (positive == wanted) for positive, part in named)
