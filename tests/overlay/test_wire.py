"""Messages as bytes: all of them come back, and nothing else is taken."""

from __future__ import annotations

import contextlib
import datetime as dt
import ipaddress
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.errors import InputError
from vedette.overlay.messages import (
    BITS,
    PARTS,
    AdjacencyMessage,
    CancelMessage,
    DifferMessage,
    DigestMessage,
    HaveMessage,
    Message,
    PublishMessage,
    SubscribeMessage,
    SubscriptionKey,
    differing,
    digest,
    part,
)
from vedette.overlay.wire import MOST_BYTES, Frame, check_name, check_size, decode, encode, plain

names = st.from_regex(r"[A-Za-z0-9_-]{1,10}", fullmatch=True)
numbers = st.integers(0, 2**63 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
keys = st.builds(SubscriptionKey, names, texts, numbers)
parts = st.integers(0, PARTS - 1)
numeric = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.one_of(st.none(), st.booleans(), numeric, texts)
messages = st.one_of(
    st.builds(AdjacencyMessage, names, numbers, st.lists(names, max_size=4).map(tuple)),
    st.builds(SubscribeMessage, keys, texts),
    st.builds(CancelMessage, keys),
    st.builds(PublishMessage, names, numbers, st.dictionaries(texts, values)),
    st.builds(DigestMessage, st.lists(st.integers(0, 2**BITS - 1), min_size=PARTS, max_size=PARTS).map(tuple)),
    st.builds(DifferMessage, st.lists(parts, max_size=4).map(tuple)),
    st.builds(HaveMessage, st.lists(keys, max_size=4).map(tuple), st.booleans()),
)
frames = st.builds(Frame, numbers, st.one_of(st.none(), numbers), numbers, st.one_of(st.none(), messages))


@given(frame=frames)
def test_what_is_written_is_read(frame: Frame) -> None:
    assert decode(encode(frame)) == frame


@given(data=st.binary(max_size=60))
def test_bytes_that_are_no_frame_are_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        decode(data)


@given(frame=frames, data=st.data())
def test_a_frame_with_something_wrong_is_refused_or_is_a_frame(frame: Frame, data: st.DataObject) -> None:
    written = json.loads(encode(frame))
    holder: Any = data.draw(st.sampled_from([each for each in (written, written["message"]) if each]))
    holder[data.draw(st.sampled_from(sorted(holder)))] = data.draw(
        st.one_of(values, st.lists(values, max_size=3), st.dictionaries(texts, values, max_size=2))
    )
    with contextlib.suppress(InputError):
        decode(json.dumps(written).encode())


GOOD: dict[str, Any] = {"v": 1, "from": 1, "to": 2, "number": 0, "message": None}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"v": 2}, "version 2, and this broker speaks 1"),
        ({"from": -1}, "whole number"),
        ({"from": True}, "whole number"),
        ({"message": []}, "an object must be"),
        ({"message": {"kind": "erase"}}, "'erase' is not known"),
        ({"message": {"kind": ["erase"]}}, "is not known"),
        ({"message": {"kind": "cancel", "key": ["a", "s"]}}, "key of a subscription"),
        ({"message": {"kind": "cancel", "key": ["a.b", "s", 1]}}, "cannot be called 'a.b'"),
        ({"message": {"kind": "cancel", "key": ["a", "s" * 501, 1]}}, "at most 500 characters"),
        ({"message": {"kind": "subscribe", "key": ["a", "s", 1], "when": "x" * 524_289}}, "at most 524,288 characters"),
        ({"message": {"kind": "digest", "parts": "00"}}, "256 digests"),
        ({"message": {"kind": "digest", "parts": "zz" * 2048}}, "256 digests"),
        ({"message": {"kind": "differ", "parts": [256]}}, "part 256 of 256"),
        ({"message": {"kind": "have", "keys": [["a", "s", 1]] * 501}}, "at most 500"),
        ({"message": {"kind": "publish", "origin": "a", "number": 1, "event": [1]}}, "an object must be"),
    ],
)
def test_errors_say_what_is_wrong(change: dict[str, Any], said: str) -> None:
    assert decode(json.dumps(GOOD).encode()) == Frame(1, 2, 0)
    with pytest.raises(InputError, match=said):
        decode(json.dumps(GOOD | change).encode())


def test_sizes_are_bounded() -> None:
    long: Message = PublishMessage("a", 1, {"text": "x" * MOST_BYTES})
    with pytest.raises(InputError, match="the most that brokers send"):
        encode(Frame(1, 2, 0, long))
    with pytest.raises(InputError, match="the most that brokers send"):
        check_size(long)
    with pytest.raises(InputError, match="over the limit"):
        decode(b" " * (MOST_BYTES + 1))
    fitting = PublishMessage("a" * 64, 2**63 - 1, {"text": "x" * (MOST_BYTES - 400)})
    check_size(fitting)
    encode(Frame(2**63 - 1, 2**63 - 1, 2**63 - 1, fitting))
    with pytest.raises(InputError, match="is not JSON"):
        decode(b'{"v":' + b"[" * 100_000)


def test_events_are_what_they_are_after_travelling() -> None:
    event = {
        "when": dt.datetime(2024, 5, 1, tzinfo=dt.UTC),
        "day": dt.date(2024, 5, 1),
        "host": ipaddress.ip_address("10.0.0.1"),
        "count": np.int64(3),
        "tags": ("a", "b"),
    }
    assert plain(event) == {
        "when": "2024-05-01T00:00:00+00:00",
        "day": "2024-05-01",
        "host": "10.0.0.1",
        "count": 3,
        "tags": ["a", "b"],
    }


@pytest.mark.parametrize("value", [math.nan, math.inf, object(), b"x", "\ud800"])
def test_events_that_json_cannot_carry_are_refused(value: object) -> None:
    with pytest.raises(InputError, match="cannot be written as JSON"):
        plain({"x": value})


def test_an_event_is_a_mapping() -> None:
    with pytest.raises(InputError, match="not list"):
        plain([1])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "a.b", "a b", "*", ">", "x" * 65, None])
def test_names_that_no_subject_can_have(name: object) -> None:
    with pytest.raises(InputError, match="cannot be called"):
        check_name(name)


@given(mine=st.sets(keys, max_size=20), theirs=st.sets(keys, max_size=20))
def test_digests_differ_where_sets_do(mine: set[SubscriptionKey], theirs: set[SubscriptionKey]) -> None:
    assert set(differing(digest(mine), digest(theirs))) == {part(key) for key in mine ^ theirs}
