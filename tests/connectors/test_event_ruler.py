"""Event patterns, held against event-ruler, which AWS runs: `make test-connectors`.

What is known to be otherwise there, and is not asked: quotes in a prefix or suffix (it takes those around a string for
part of it), characters outside of the BMP while case is ignored (they never match), several alternatives of `$or` at
once (it mixes them up where one of them may be missing; each by itself is asked).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.connectors import maven
from tests.dialects.eventbridge import table
from tests.dialects.eventbridge.random_cases import Cases
from vedette.dialects.eventbridge import translate
from vedette.errors import DialectError
from vedette.language.check import check
from vedette.language.documents import EventPattern, fits, parse, text_of
from vedette.language.evaluate import evaluate
from vedette.spark.java import find_java

DRIVER = Path(__file__).with_name("Ruler.java")
MANY = int(os.environ.get("EXAMPLES", "100")) * 20


def ask(cases: Sequence[tuple[str, str]]) -> list[str]:
    """What event-ruler says of patterns and events, both as JSON."""
    lines = "".join(json.dumps({"pattern": pattern, "event": event}) + "\n" for pattern, event in cases)
    java = [str(find_java().executable), "-cp", maven.classpath(maven.jars("ruler")), str(DRIVER)]
    done = subprocess.run(java, input=lines.encode(), capture_output=True, check=False)
    if b"jdk.compiler" in done.stderr:
        pytest.skip("this Java cannot run a source file")
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().splitlines()


def test_the_table_is_what_event_ruler_says() -> None:
    cases = [case for name in table.FILES for case in table.cases(name)]
    said = ask([(case.pattern, case.event) for case in cases])
    assert [case.place for case, one in zip(cases, said, strict=True) if one != str(case.fits).lower()] == []


def test_what_is_refused_is_so_by_event_ruler_and_in_the_same_words() -> None:
    cases = list(table.refused())
    for case, one in zip(cases, ask([(case.pattern, "{}") for case in cases]), strict=True):
        verdict, words = one.split("\t")
        assert verdict == "refused", case.place
        ours = re.search(r"\(AWS: (.*)\)", case.said)
        assert ours is None or ours[1] == words, case.place


@pytest.mark.parametrize("dots", [False, True])
def test_random_patterns(dots: bool) -> None:
    random = Cases(7, dots=dots)
    asked: list[tuple[str, str, bool]] = []
    while len(asked) < MANY:
        event = random.event()
        rule = random.pattern(event)
        if any(odd in json.dumps(rule, ensure_ascii=False) for odd in ('\\"', "😀")):
            continue
        try:
            filter_ = check(translate(rule))
        except DialectError:
            continue
        for alternative in parse(rule).alternatives:
            pattern = EventPattern((alternative,))
            asked.append((text_of(pattern), json.dumps(event), fits(pattern, event)))
        if not dots:  # a path of Vedette's own language does not lead through a key with a dot
            assert (evaluate(filter_, event) is True) == fits(rule, event)
    said = ask([(pattern, event) for pattern, event, _ in asked])
    wrong = [one for one, verdict in zip(asked, said, strict=True) if verdict != str(one[2]).lower()]
    assert wrong == []
    assert MANY / 4 < sum(one[2] for one in asked) < MANY
