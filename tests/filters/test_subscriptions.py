from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from vedette.engine.subscriptions import Subscriptions
from vedette.errors import FilterError, InputError, LimitError, NotSupported, SchemaError, UnknownSubscription
from vedette.filters import subscription_set as module


def _ids(subscriptions: Subscriptions, **event: object) -> list[str]:
    return subscriptions.compile("scan").match(event)


def test_add_remove_replace() -> None:
    subs = Subscriptions({"n": "int"})
    for name in "abc":
        subs.add(name, "n = 1", subscriber=f"of {name}")
    assert _ids(subs, n=1) == ["a", "b", "c"]
    subs.remove("b")
    assert _ids(subs, n=1) == ["a", "c"]
    subs.replace("a", "n >= 1")
    assert _ids(subs, n=1) == ["c", "a"]
    subs.add("b", "n = 2")
    assert _ids(subs, n=2) == ["a", "b"]
    assert list(subs) == ["c", "a", "b"]
    assert len(subs) == 3
    assert "b" in subs
    assert "z" not in subs
    assert subs.text("a") == "n >= 1"
    assert subs.subscriber("c") == "of c"
    assert subs.subscriber("a") is None


def test_ids_that_are_there_or_not() -> None:
    subs = Subscriptions({"n": "int"})
    subs.add("a", "n = 1")
    with pytest.raises(InputError, match="'a' already"):
        subs.add("a", "n = 2")
    for change in (subs.remove, subs.text, subs.subscriber, lambda id_: subs.replace(id_, "n = 1")):
        with pytest.raises(UnknownSubscription, match="'b'"):
            change("b")
    with pytest.raises(KeyError):
        subs.remove("b")


@pytest.mark.parametrize(
    ("id_", "when", "subscriber", "message"),
    [
        (5, "n = 1", None, "the id of a subscription must be a text, not 5"),
        ("", "n = 1", None, "must not be empty"),
        ("a", None, None, "the when of a subscription must be a text"),
        ("a", "n = 1", 7, "the subscriber of a subscription must be a text"),
        ("\ud800", "n = 1", None, "the id of a subscription holds a broken character"),
        ("a", "n = 1 -- \ud800", None, "line 1, column 10: half of a surrogate pair"),
    ],
)
def test_ids_texts_and_subscribers_are_texts(id_: Any, when: Any, subscriber: Any, message: str) -> None:
    subs = Subscriptions({"n": "int"})
    with pytest.raises(InputError, match=message):
        subs.add(id_, when, subscriber=subscriber)
    with subs.live("scan") as live, pytest.raises(InputError, match=message):
        live.add(id_, when, subscriber=subscriber)
    assert len(subs) == 0


def test_a_text_that_makes_no_sense_changes_nothing() -> None:
    subs = Subscriptions({"n": "int"})
    subs.add("a", "n = 1")
    with pytest.raises(FilterError, match="line 1, column"):
        subs.add("b", "n = = 2")
    with pytest.raises(FilterError, match="m"):
        subs.replace("a", "m = 2")
    with pytest.raises(FilterError, match="unknown attribute m"):
        subs.add("b", "[n = 1] ; [m = 2]")
    with pytest.raises(NotSupported, match="forecasts"):
        subs.replace("a", "n = 2", predict={"within": 3})
    assert _ids(subs, n=1) == ["a"]
    assert list(subs) == ["a"]


def test_many_at_once_or_none() -> None:
    subs = Subscriptions({"n": "int"})
    assert subs.add_many({"id": f"s{i}", "when": f"n = {i % 3}"} for i in range(9)) == 9
    assert _ids(subs, n=1) == ["s1", "s4", "s7"]
    good: dict[str, Any] = {"id": "x", "when": "n = 1", "subscriber": "me"}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"id": "s1", "when": "n = 1"}, "already"),
        ({"id": "y", "when": 5}, "record 1: 'when'"),
        ({"when": "n = 1"}, "record 1: 'id'"),
        ({"id": "y", "when": "n == "}, "expected"),
    ]
    for bad, message in wrong:
        with pytest.raises(InputError, match=message):
            subs.add_many([good, bad])
        assert len(subs) == 9
        assert _ids(subs, n=1) == ["s1", "s4", "s7"]
    with pytest.raises(NotSupported, match="dialect"):
        subs.add_many([{"id": "z", "when": "n = 1", "dialect": "klingon"}])
    with pytest.raises(NotSupported, match="forecasts"):
        subs.add_many([{"id": "z", "when": "n = 1", "predict": {"within": 5}}])
    subs.add_many([good])
    assert subs.subscriber("x") == "me"


def test_what_has_expired_is_left_out() -> None:
    subs = Subscriptions({"n": "int"})
    records: list[dict[str, Any]] = [
        {"id": "old", "when": "n = 1", "expires": "2001-01-01T00:00:00Z"},
        {"id": "new", "when": "n = 1", "expires": "9000-01-01T00:00:00Z"},
        {"id": "ever", "when": "n = 1", "expires": None},
    ]
    assert subs.add_many(records) == 2
    assert _ids(subs, n=1) == ["new", "ever"]
    with pytest.raises(InputError, match="record 0, subscription 'x': 'expires'"):
        subs.add_many([{"id": "x", "when": "n = 1", "expires": "soon"}])


def test_without_a_schema_constants_tell_the_types() -> None:
    subs = Subscriptions()
    subs.add("number", "price < 120.5")
    subs.add("text", "name = 'x'")
    subs.add("there", "exists other")
    assert _ids(subs, price=100, name="x") == ["number", "text"]
    assert _ids(subs, other=[1]) == ["there"]


def test_a_schema_must_make_sense() -> None:
    with pytest.raises(SchemaError, match="unknown type 'integer'"):
        Subscriptions({"n": "integer"})


def test_an_unknown_index_is_named() -> None:
    with pytest.raises(InputError, match=r"'btree'\nHint: did you mean 'tree'\?"):
        Subscriptions().compile("btree")


def test_what_was_removed_is_swept_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TIDY", 4)
    subs = Subscriptions({"n": "int"})
    for number in range(40):
        subs.add(f"s{number}", f"n = {number % 5}", subscriber=str(number))
        if number % 4:
            subs.remove(f"s{number}")
        if number == 33:
            subs.replace("s8", "n = 7")
    wanted = [f"s{n}" for n in range(0, 40, 4) if n != 8]
    wanted.insert(-1, "s8")
    assert list(subs) == wanted
    assert subs.text("s0") == "n = 0"
    assert subs.subscriber("s4") == "4"
    assert subs.text("s8") == "n = 7"
    matcher = subs.compile("scan")
    assert len(matcher) == 10
    assert matcher.match({"n": 0}) == ["s0", "s20"]
    assert matcher.match({"n": 7}) == ["s8"]
    assert len(subs._alive) < 30


def test_progress_is_told() -> None:
    steps: list[str] = []
    Subscriptions().compile("scan", progress=steps.append)
    assert steps == ["drawing up", "indexing"]


@pytest.mark.parametrize("live", [False, True])
def test_an_error_in_a_batch_names_its_record(live: bool) -> None:
    subs: Any = Subscriptions({"n": "int"}).live() if live else Subscriptions({"n": "int"})
    good = {"id": "x", "when": "n = 1"}
    with pytest.raises(FilterError) as found:
        subs.add_many([good, {"id": "s7", "when": "n = 1 and m = 2"}])
    assert str(found.value).splitlines()[:4] == [
        "record 1, subscription 's7':",
        "line 1, column 11: unknown attribute m",
        "  n = 1 and m = 2",
        "            ^",
    ]
    assert (found.value.line, found.value.column, found.value.where) == (1, 11, "record 1, subscription 's7'")
    with pytest.raises(LimitError, match=r"^line 12, subscription 'long':") as long:
        subs.add_many([good, {"id": "long", "when": "n = 1 or " * 200_000 + "n = 2", "line": 12}])
    assert type(long.value) is LimitError
    with pytest.raises(InputError, match="record 1, subscription 'x': there is a subscription 'x' already"):
        subs.add_many([good, good])
    with pytest.raises(InputError, match="record 0, subscription 'y': the subscriber of"):
        subs.add_many([{"id": "y", "when": "n = 1", "subscriber": 7}])
    with pytest.raises(NotSupported, match="line 3, subscription 'p': `predict` asks for forecasts"):
        subs.add_many([good, {"id": "p", "when": "n = 1", "predict": {"within": 3}, "line": 3}])
    with pytest.raises(InputError, match="line 3, subscription 'p': a subscription to 'all'"):
        subs.add_many([good, {"id": "p", "when": "n = 1", "to": "all", "line": 3}])
    assert len(subs) == 0
    assert list(subs) == []


class _Record(NamedTuple):
    id: str
    when: str


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ({"id": "a", "when": "n = 1"}, "one dict, not several"),
        ("a", "one str"),
        (None, "one NoneType"),
        (["a"], "record 0 is a str, not a mapping"),
        ([_Record("a", "n = 1")], r"_asdict\(\)"),
    ],
)
def test_records_are_mappings(records: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Subscriptions({"n": "int"}).add_many(records)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("file.yaml", r"'file.yaml'[^$]*read_schema"),
        (Path("file.yaml"), "read_schema"),
        (pa.schema({"n": pa.int64()}), "infer_arrow"),
        (["n"], "a list, not a Schema or a mapping"),
    ],
)
def test_a_schema_is_a_mapping(schema: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Subscriptions(schema)


def test_only_texts_are_ids() -> None:
    subs = Subscriptions({"n": "int"})
    subs.add("5", "n = 1")
    unlikely: list[Any] = [5, None, ["5"]]
    for holder in (subs, subs.compile(), subs.live()):
        assert "5" in holder
        assert not any(each in holder for each in unlikely)
        for each in unlikely:
            with pytest.raises(UnknownSubscription, match="there is no subscription"):
                holder.text(each)
    with pytest.raises(UnknownSubscription, match="there is no subscription 5"):
        subs.remove(unlikely[0])


@pytest.mark.parametrize("sample", [{"n": 1}, iter([{"n": 1}])])
def test_a_sample_is_a_batch_of_events(sample: Any) -> None:
    subs = Subscriptions({"n": "int"})
    subs.add("a", "n = 1")
    for build in (subs.compile, subs.live):
        with pytest.raises(InputError, match=r"Hint: (hand in a list|list)"):
            build(sample=sample)
