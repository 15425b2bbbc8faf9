from __future__ import annotations

import datetime as dt
import io
import sys
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from vedette.dialects.translation import translate
from vedette.errors import FileError
from vedette.filters.origins import Origin
from vedette.io.subscription_rows import SubscriptionRecord, SubscriptionRows
from vedette.io.subscriptions import read_subscriptions

NOW = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)


def read(path: Path, content: bytes | str) -> SubscriptionRows:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_subscriptions(path, now=NOW)


def test_json_lines(tmp_path: Path) -> None:
    content = "\n".join(
        [
            '{"id":"s1","when":"a = 1"}',
            "",
            '{"id":"s2","subscriber":"alice","when":"b = 2"}',
            '{"id":3,"subscriber":4,"when":"c = 3","dialect":null,"expires":null,"note":"hello"}',
            '{"id":"s4","when":{"a":[1]},"dialect":"eventbridge","expires":"2025-01-01","predict":{"within":10,"threshold":0.8}}',
        ]
    )
    subscriptions = read(tmp_path / "s.jsonl", content)
    assert list(subscriptions) == [
        SubscriptionRecord("s1", None, "a = 1", None, None, None, {}, 1),
        SubscriptionRecord("s2", "alice", "b = 2", None, None, None, {}, 3),
        SubscriptionRecord("3", "4", "c = 3", None, None, None, {"note": "hello"}, 4),
        SubscriptionRecord(
            "s4",
            None,
            translate({"a": [1]}, dialect="eventbridge").when,
            "eventbridge",
            dt.datetime(2025, 1, 1, tzinfo=dt.UTC),
            {"within": 10, "threshold": 0.8},
            {},
            5,
            Origin(None, "eventbridge", '{"a":[1]}'),
        ),
    ]
    assert subscriptions.rejects == []
    assert subscriptions.progress == 1.0


@pytest.mark.parametrize(
    ("record", "says", "hint"),
    [
        ('{"when":"a = 1"}', "there is no `id`", "give it one"),
        ('{"id":null,"when":"a = 1"}', "there is no `id`", "give it one"),
        ('{"id":"","when":"a = 1"}', "`id` is empty", "a name"),
        ('{"id":"  ","when":"a = 1"}', "`id` is empty", "a name"),
        ('{"id":true,"when":"a = 1"}', "`id` is true, not a text", "quotes"),
        ('{"id":"good","when":"a = 1"}', "the id 'good' is taken by line 1", "its own id"),
        ('{"id":"x"}', "there is no `when`", "say when"),
        ('{"id":"x","filter":"a = 1"}', "there is no `when`", "rename `filter` to `when`"),
        ('{"id":"x","when":""}', "`when` is empty", "`true`"),
        ('{"id":"x","when":5}', "`when` is 5, not a text", "quotes"),
        ('{"id":"x","when":{"a":[1]}}', "`when` is an object", "dialect"),
        ('{"id":"x","when":"a","dialect":5}', "`dialect` is 5", "leave it out"),
        ('{"id":"x","when":"a","subscriber":["y"]}', '`subscriber` is ["y"], not a text', "quotes"),
        ('{"id":"x","when":"a","expires":"soon"}', "`expires`: 'soon' is not a time", "ISO 8601"),
        ('{"id":"x","when":"a","predict":5}', "`predict` is 5, not an object", "within"),
        ('{"id":"x","when":"a","predict":{"within":0}}', "`within` of `predict` is 0", "within"),
        ('{"id":"x","when":"a","predict":{"within":3,"threshold":7}}', "`threshold` of `predict` is 7", "threshold"),
        ('{"id":"x","whne":"a = 1"}', "`whne` is no part of a subscription", "did you mean `when`?"),
        ('{"id":"x","when":"a","subscribers":"y"}', "`subscribers` is no part", "did you mean `subscriber`?"),
        ('{"id":"x","when":"a","Expires":"2030-01-01"}', "`Expires` is no part", "did you mean `expires`?"),
        ('{"id":"x","when":"a","prediction":{"within":3}}', "`prediction` is no part", "did you mean `predict`?"),
        ('{"id":"x","when":"a","predict":{"within":"3","treshold":2}}', "'treshold'; `within`", "`threshold`?; write"),
        ('["x"]', "a subscription is an object", "write e.g."),
        ('{"id":', "not JSON", "one JSON object a line"),
        (
            '{"id":"x","when":' + '{"a":' * 500 + "1" + "}" * 500 + ',"dialect":"eventbridge"}',
            "`when` is no JSON object",
            "nested",
        ),
    ],
)
def test_bad_records_are_reported_and_do_not_stop_the_others(tmp_path: Path, record: str, says: str, hint: str) -> None:
    content = '{"id":"good","when":"a"}\n' + record + '\n{"id":"last","when":"b"}\n'
    subscriptions = read(tmp_path / "s.jsonl", content)
    assert [one.id for one in subscriptions] == ["good", "last"]
    (reject,) = subscriptions.rejects
    assert reject.line == 2
    assert reject.raw == record
    reason, _, mending = reject.reason.partition("\nHint: ")
    assert says in reason
    assert hint in mending
    assert str(reject).startswith("line 2: ")


@pytest.mark.parametrize(
    "key", ["note", "description", "describe", "predicate", "filter", "index", "expiry_note", "ids"]
)
def test_other_keys_are_carried_along(tmp_path: Path, key: str) -> None:
    subscriptions = read(tmp_path / "s.jsonl", orjson.dumps({"id": "x", "when": "a", key: 1}).decode())
    assert [one.extra for one in subscriptions] == [{key: 1}]


def test_a_key_that_is_there_is_not_meant_by_another(tmp_path: Path) -> None:
    subscriptions = read(tmp_path / "s.jsonl", '{"id":"x","when":"a","subscriber":"y","subscribers":["y","z"]}')
    assert [one.extra for one in subscriptions] == [{"subscribers": ["y", "z"]}]


def test_expired_ones_are_left_out_and_counted(tmp_path: Path) -> None:
    lines = [
        {"id": str(n), "when": "a", "expires": when}
        for n, when in enumerate(["2024-04-30", "2024-05-01", "2024-05-02"])
    ]
    subscriptions = read(tmp_path / "s.jsonl", b"\n".join(map(orjson.dumps, lines)))
    assert [one.id for one in subscriptions] == ["2"]
    assert subscriptions.expired == 2
    assert subscriptions.rejects == []


YAML_LIST = """
# standing orders
- id: s1
  when: a = 1
- {id: s2, subscriber: alice, when: "b = 2", expires: 2025-01-01}
- id: 3
  when: >
    c = 3
    and d = 4
- id: yes
  when: a
"""


def test_yaml_list(tmp_path: Path) -> None:
    subscriptions = read(tmp_path / "s.yaml", YAML_LIST)
    assert [(one.id, one.when.strip(), one.line) for one in subscriptions] == [
        ("s1", "a = 1", 3),
        ("s2", "b = 2", 5),
        ("3", "c = 3 and d = 4", 6),
    ]
    (reject,) = subscriptions.rejects
    assert (reject.line, reject.raw) == (10, '{"id":true,"when":"a"}')


def test_yaml_documents(tmp_path: Path) -> None:
    subscriptions = read(
        tmp_path / "s.yml", "---\nid: a\nwhen: x = 1\n---\n- id: b\n  when: y = 1\n---\n---\njust text\n"
    )
    assert [(one.id, one.line) for one in subscriptions] == [("a", 2), ("b", 5)]
    assert [reject.line for reject in subscriptions.rejects] == [9]
    assert list(read(tmp_path / "s.yaml", "")) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- id: a\n  when: 'x\n", r"is not YAML: line \d+, column \d+: "),
        ("- id: !!python/object:os.system {}\n", "is not YAML: line 1"),
        ("[" * 200_000, "is nested more than 64 deep"),
        ("a: \x01", "is not YAML"),
        (b"a: \xff", "is not YAML"),
        ("? [a]\n: b\n", "is not YAML: line 1"),
        ("- id: 9999-99-99\n  when: x", "is not YAML"),
    ],
)
def test_what_is_no_yaml(tmp_path: Path, text: str | bytes, says: str) -> None:
    with pytest.raises(FileError, match=says):
        list(read(tmp_path / "s.yaml", text))


def test_parquet(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "s1", "subscriber": "alice", "when": "a = 1", "predict": None, "team": "x", "expires": None},
        {"id": "s2", "subscriber": None, "when": "b = 2", "predict": '{"within": 5}', "team": None, "expires": NOW},
        {"id": "s3", "subscriber": None, "when": "b = 2", "predict": '{"within": 5}', "team": None, "expires": None},
        {"id": None, "subscriber": None, "when": "b = 2", "predict": "broken", "team": None, "expires": None},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "s.parquet")
    subscriptions = read_subscriptions(tmp_path / "s.parquet", now=NOW)
    assert list(subscriptions) == [
        SubscriptionRecord("s1", "alice", "a = 1", None, None, None, {"team": "x"}, 1),
        SubscriptionRecord("s3", None, "b = 2", None, None, {"within": 5}, {}, 3),
    ]
    assert subscriptions.expired == 1
    assert [reject.line for reject in subscriptions.rejects] == [4]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"id":"s1","when":"a = 1"}\n')))
    assert [one.id for one in read_subscriptions("-")] == ["s1"]


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        read_subscriptions(tmp_path / "none.jsonl")
    with pytest.raises(FileError, match="the name does not say which format"):
        read(tmp_path / "s.csv", "")


def test_parquet_with_text_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    damaged = pa.array([b"a = '\xff'"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"id": ["s1"], "when": damaged}), path)
    with pytest.raises(FileError, match="rows 1 to 1 hold what cannot be read"):
        list(read_subscriptions(path))
