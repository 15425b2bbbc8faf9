"""Covering on Spark: the answers of one process, whatever the subscriptions come as."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.session import vedette, write_lines
from tests.spark.covering.test_rounds import METHODS, WIDE, mixed_text
from vedette.covering.cover_judge import CoverSettings
from vedette.covering.cover_set import CoverAnswer, CoveringSet
from vedette.errors import InputError
from vedette.io.cover_records import record_of
from vedette.io.subscription_problems import BadSubscriptions
from vedette.spark.covering import cover_rounds
from vedette.spark.covering.cover import CoverJobs, cover
from vedette.spark.covering.cover_rounds import CoverRounds, RoundSizes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RANDOM = Random(3)
TEXTS = {f"s{number:04}": mixed_text(_RANDOM, 40) for number in range(3000)}


def here(texts: dict[str, str], method: Any = "auto") -> list[CoverAnswer]:
    """What one process says, with witnesses."""
    plain = CoveringSet(WIDE, method=method, witnesses=True)
    return [plain.add(id_, text) for id_, text in texts.items()]


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few subscriptions go out to workers, too."""
    monkeypatch.setattr(cover_rounds, "SIZES", RoundSizes(50, 700, 2000))


@pytest.mark.parametrize(  # test_rounds.py has all of them, without Spark
    "method", [pytest.param(each, marks=[pytest.mark.thorough] * (each != "auto")) for each in METHODS]
)
def test_thousands_by_every_method(spark: SparkSession, method: Any) -> None:
    found = CoveringSet(WIDE, method=method, witnesses=True)
    made = CoverRounds(CoverJobs(spark), found, WIDE, CoverSettings(method), RoundSizes(400, 2600, 2600))
    answers = list(made.answers(list(TEXTS), list(TEXTS.values())))
    assert answers == here(TEXTS, method)
    assert 0 < made.judged_again < len(TEXTS)


@pytest.mark.usefixtures("_small")
def test_a_dataframe_in_the_order_of_a_column(spark: SparkSession) -> None:
    texts = dict(list(TEXTS.items())[:900])
    rows = [(id_, text, -number) for number, (id_, text) in enumerate(texts.items())]
    frame = spark.createDataFrame(rows, "id string, when string, rank int").repartition(5)
    found = {row["subscription"]: row.asDict() for row in cover(frame, schema=WIDE, witnesses=True).collect()}
    turned = cover(frame, schema=WIDE, order="rank").where("covered").count()
    wanted = [record_of(answer, witness=True) for answer in here(texts)]
    assert list(map(_told, found.values())) == wanted
    backwards = here(dict(reversed(texts.items())))
    assert turned == sum(answer.covered for answer in backwards) != sum(answer["covered"] for answer in wanted)


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """A row without what it does not say."""
    record = {name: value for name, value in row.items() if value is not None}
    if "witness" in record:
        record["witness"] = json.loads(record["witness"])
    return record


def test_few_are_decided_without_a_job(spark: SparkSession, tmp_path: Path) -> None:
    texts = {"wide": "a < 10", "narrow": "a < 5 and b = 1", "never": "a < 1 and a > 2"}
    records = [{"id": id_, "when": text} for id_, text in texts.items()]
    for given in (texts, records, write_lines(tmp_path / "wishes.jsonl", records)):
        found = cover(given, spark=spark).orderBy("subscription").collect()
        assert [(row["subscription"], row["covered"], row["by"]) for row in found] == [
            ("narrow", True, ["wide"]),
            ("never", True, []),
            ("wide", False, []),
        ]


@pytest.mark.usefixtures("_small")
def test_what_makes_no_sense_is_set_aside(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    good = list(TEXTS.items())[:120]
    texts = dict([*good[:60], ("bad", "a <"), *good[60:], ("worse", "b = 'text'")])
    found = cover(texts, schema=WIDE, spark=spark).collect()
    wanted = {answer.subscription: (answer.covered, tuple(answer.by)) for answer in here(dict(good))}
    assert {row.subscription: (row.covered, tuple(row.by)) for row in found} == wanted
    assert "line 61, subscription 'bad'" in caplog.text
    assert "2 subscriptions are bad and set aside; the others are used." in caplog.text


@pytest.mark.usefixtures("_small")
def test_what_makes_no_sense_is_told_all_at_once(spark: SparkSession) -> None:
    texts = dict(list(TEXTS.items())[:120]) | {"bad": "a <", "worse": "b = 'text'"}
    with pytest.raises(BadSubscriptions, match=r"(?s)line 121, subscription 'bad'.*line 122.*2 subscriptions are bad"):
        cover(texts, schema=WIDE, spark=spark, strict=True)
    with pytest.raises(BadSubscriptions, match="subscription 'bad'"):  # nothing is good
        cover({"bad": "a <"}, schema=WIDE, spark=spark)


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        (3, {}, "the subscriptions are a int"),
        (b"s1", {}, "the subscriptions are a bytes"),
        ({"s": "a < 1"}, {"method": "guess"}, "no method 'guess'"),
        ("frame", {}, "no column when"),
        ("frame", {"order": "rank"}, "no column when"),
    ],
)
def test_what_cannot_be_covered(spark: SparkSession, given: Any, options: dict[str, Any], said: str) -> None:
    frame = spark.range(3) if given == "frame" else given
    with pytest.raises(InputError, match=said):
        cover(frame, spark=spark, **options)


@pytest.mark.usefixtures("spark", "_small")
def test_the_command_writes_the_same_file(tmp_path: Path) -> None:
    records = [{"id": id_, "when": text} for id_, text in list(TEXTS.items())[:800]]
    places = write_lines(tmp_path / "wishes.jsonl", records)
    schema = write_lines(tmp_path / "schema.json", [{name: str(type_) for name, type_ in WIDE.items()}])
    for engine in ("local", "spark"):
        out = tmp_path / f"{engine}.jsonl"
        result = vedette("cover", places, "-o", out, "--schema", schema, "--witness", "--engine", engine)
        assert result.exit_code == 0, result.stderr
        assert "800 subscriptions: " in result.stderr
    assert (tmp_path / "spark.jsonl").read_text() == (tmp_path / "local.jsonl").read_text()
