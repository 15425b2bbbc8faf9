"""What a checkpoint depends on, and what is said when it has changed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.spark.pipeline.documents import KAFKA, SINK, SOURCE, STREAM, SUBSCRIPTIONS, loaded, prepared
from vedette.spark.pipeline.config import differences


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the files name is here."""
    return prepared(tmp_path, monkeypatch)


FILES = STREAM + SUBSCRIPTIONS + SOURCE + SINK
TOPICS = STREAM + SUBSCRIPTIONS + KAFKA + SINK


def test_facts_are_plain_json(folder: Path) -> None:
    facts = loaded(folder, FILES).facts()
    assert facts == {"pipeline": "pipeline", "type": "jsonl", "path": str(folder / "events")}
    assert json.loads(json.dumps(facts)) == facts
    topics = loaded(folder, TOPICS).facts()
    assert topics == {"pipeline": "pipeline", "type": "kafka", "topics": ["events"]}


def test_a_fingerprint_is_that_of_the_facts(folder: Path) -> None:
    one = loaded(folder, FILES)
    assert re.fullmatch("[0-9a-f]{12}", one.fingerprint())
    assert loaded(folder, FILES).fingerprint() == one.fingerprint()
    assert loaded(folder, TOPICS).fingerprint() != one.fingerprint()


@pytest.mark.parametrize(
    "change",
    [
        ('type = "console"', 'type = "console"\nrows = 3'),
        ("available-now", "continuous"),
        ("broker:9092", "other:9092"),
        ('"state"', '"elsewhere"'),
        ('topics = ["events"]', 'topics = ["events"]\nstarting = "latest"\nmax_offsets_per_trigger = 3'),
    ],
)
def test_what_may_change(folder: Path, change: tuple[str, str]) -> None:
    assert change[0] in TOPICS
    assert loaded(folder, TOPICS.replace(*change)).fingerprint() == loaded(folder, TOPICS).fingerprint()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"pipeline": "a"}, {"pipeline": "b"}, ['the pipeline\'s name: "a" before, "b" now']),
        ({"type": "jsonl"}, {"type": "csv"}, ['the type of the source: "jsonl" before, "csv" now']),
        (
            {"path": "/a"},
            {"topics": ["t"]},
            [
                'the path of the source: "/a" before, not given now',
                'the topics of the source: not given before, ["t"] now',
            ],
        ),
        ({"topics": ["a", "b"]}, {"topics": ["b", "c"]}, ['the topics of the source: without "a", now also "c"']),
        ({"new": 1}, {}, ["`new`: 1 before, not given now"]),
        ({"path": "/a"}, {"path": "/a"}, []),
    ],
)
def test_differences(before: dict[str, object], after: dict[str, object], said: list[str]) -> None:
    assert differences(before, after) == said
