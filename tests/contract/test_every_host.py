"""One contract for the engine on every host: the same set and the same events have the same outcomes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract import hosts
from tests.contract.cases import CASES, SCHEMA, WITH_OFFERS, Case
from tests.contract.hosts import Host, InOneBatch, Learning, Told
from vedette.errors import NotSupported
from vedette.language.check import check
from vedette.language.evaluate import evaluate
from vedette.language.parser import parse
from vedette.meeting.meet import meet
from vedette.schema.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE: dict[str, Callable[[], Host]] = {
    "an Arrow table": hosts.InOneTable,
    "a stream in parts": hosts.InParts,
    "a saved engine": hosts.Saved,
    "a live engine": hosts.Live,
    "the command line": hosts.CommandLine,
    "the service": hosts.InTheService,
}
THERE: dict[str, Callable[[Any], Host]] = {
    "a DataFrame": hosts.OnSpark,
    "a streaming DataFrame": hosts.InAStream,
    "a pipeline": hosts.APipeline,
    "a streaming pipeline": hosts.AStreamingPipeline,
    "the command line": hosts.CommandLineOnSpark,
}


FILTERS = next(case for case in CASES if case.name == "filters")


def expected(case: Case, folder: Path, learns: bool) -> list[Told]:
    """What one process says of all events at once."""
    return (Learning() if learns else InOneBatch()).told(case, folder)


def test_one_process_tells_what_the_slow_evaluator_says(tmp_path: Path) -> None:
    schema = Schema.of(dict(SCHEMA))
    by_hand = {
        (event["id"], record["id"])
        for record in FILTERS.records
        for event in FILTERS.events
        if evaluate(check(parse(record["when"]), schema, record["when"]), event) is True
    }
    assert {(one.event, one.subscription) for one in expected(FILTERS, tmp_path, learns=False)} == by_hand


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("name", HERE)
def test_hosts_in_one_process_tell_the_same(name: str, case: Case, tmp_path: Path) -> None:
    host = HERE[name]()
    found = host.told(case, tmp_path)
    assert found == expected(case, tmp_path, host.learns)
    assert found


@pytest.mark.parametrize("name", [name for name in HERE if name != "the command line"])
def test_hosts_that_take_offers_tell_the_same(name: str, tmp_path: Path) -> None:
    found = HERE[name]().told(WITH_OFFERS, tmp_path)
    assert found == expected(WITH_OFFERS, tmp_path, learns=False)
    met = {(one.event, one.subscription) for one in found if one.kind == "meeting"}
    texts = {one["id"]: one["when"] for one in WITH_OFFERS.records if one.get("to") == "offers"}
    table = meet(WITH_OFFERS.offers, texts, schema=SCHEMA)
    assert met == set(zip(table["publication"].to_pylist(), table["subscription"].to_pylist(), strict=True)) != set()


# A mixture has all of them, and every job of Spark takes its time.
@pytest.mark.parametrize(
    "case", [pytest.param(each, marks=[pytest.mark.thorough] * (each is not CASES[-1])) for each in CASES], ids=str
)
@pytest.mark.parametrize("name", THERE)
def test_hosts_on_spark_tell_the_same(name: str, case: Case, tmp_path: Path, spark: SparkSession) -> None:
    from vedette.spark.versions import StatefulProcessor

    host = THERE[name](spark)
    if StatefulProcessor is object and "stream" in name and case is not FILTERS:
        refused = tmp_path / "refused"
        refused.mkdir()
        with pytest.raises(NotSupported, match="patterns over a stream need transformWithState"):
            host.told(case, refused)
        case = FILTERS
    assert host.told(case, tmp_path) == expected(case, tmp_path, host.learns)
