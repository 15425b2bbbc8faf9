from __future__ import annotations

from random import Random

import pytest

from tests.patterns import oracle
from tests.patterns.generate import SCHEMA, Writer, shuffled, stream
from vedette.errors import FilterError, NotSupported
from vedette.language.check import check
from vedette.patterns.partition_follower import NamedEvent, PartitionFollower
from vedette.patterns.shape import DONE


def _answers(text: str, events: list[dict[str, object]]) -> dict[oracle.Answer, set[oracle.Witness]]:
    """Completing events and bindings, each with its witnesses, as the oracle has them."""
    pattern = oracle.composite(text)
    found: dict[oracle.Answer, set[oracle.Witness]] = {}
    for part in oracle.streams(pattern, oracle.in_order(events, SCHEMA)[0], SCHEMA):
        standing = PartitionFollower(pattern, SCHEMA, text)
        for seen in part:
            for attempt in standing.take(NamedEvent(str(seen.number), seen.time, seen.event)):
                for after in attempt.after:
                    if after.marking == DONE:
                        witness = frozenset((position, int(one.name)) for position, one in after.taken)
                        found.setdefault((seen.number, frozenset(after.bindings)), set()).add(witness)
    return found


@pytest.mark.parametrize("chunk", range(8))
def test_the_same_matches_as_the_oracle(chunk: int) -> None:
    compared = 0
    for seed in range(chunk * 40, chunk * 40 + 40):
        random = Random(seed)
        text = Writer(random, most_steps=5).pattern()
        events = shuffled(random, stream(random, 9))
        try:
            check(oracle.composite(text), SCHEMA, text)
        except (FilterError, NotSupported):
            continue
        expected, found = oracle.expected(text, events, SCHEMA), _answers(text, events)
        assert found.keys() == expected.keys(), (seed, text)
        for answer, witnesses in found.items():
            assert witnesses <= expected[answer], (seed, text)
        compared += 1
    assert compared > 20
