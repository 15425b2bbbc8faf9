"""Every modifier and kind of value: what it matches and what not, as tables."""

from __future__ import annotations

import base64
from typing import Any

import pyarrow as pa
import pytest
import yaml

from tests.dialects.sigma.asking import answers, read, said, selection
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import DialectError, NotSupported

# A selection, a value of `f` (None: there is none), and whether it matches.
TABLE: list[tuple[str, Any, bool]] = [
    # texts are compared as a whole, but for case
    ("f: abc", "abc", True),
    ("f: abc", "ABC", True),
    ("f: Abc", "abcd", False),
    ("f: Abc", "xabc", False),
    ("f: abc", None, False),
    ("f: Ärger", "ÄRGER", True),
    ("f: [abc, def]", "DEF", True),
    ("f: [abc, def]", "ghi", False),
    # wildcards and their escapes
    ("f: a*c", "abbbc", True),
    ("f: a*c", "ac", True),
    ("f: a*c", "acd", False),
    ("f: a?c", "abc", True),
    ("f: a?c", "ac", False),
    ("f: '*bc'", "abc", True),
    ("f: 'ab*'", "abc", True),
    ("f: '*b*'", "abc", True),
    ("f: '*'", "", True),
    ("f: '*'", "x", True),
    ("f: '*'", None, False),
    ("f: '**'", "x", True),
    ("f: '?'", "", False),
    ("f: '?'", "x", True),
    ("f: '?*'", "", False),
    (r"f: a\*c", "a*c", True),
    (r"f: a\*c", "abc", False),
    (r"f: a\?c", "a?c", True),
    (r"f: a\?c", "abc", False),
    (r"f: a\\*c", "a\\bc", True),
    (r"f: a\\*c", "a*c", False),
    (r"f: C:\Windows\*", "c:\\windows*", True),
    (r"f: C:\Windows\*", "c:\\windows\\system32", False),
    (r"f: C:\Windows\\*", "c:\\windows\\system32", True),
    (r"f: \\\\server\share", "\\\\server\\share", True),
    (r"f: a\b", "a\\b", True),
    (r"f: a\\b", "a\\b", True),
    ("f: 100%", "100%", True),
    ("f: 100%", "1000", False),
    ("f: 'a_c*'", "a_cd", True),
    ("f: 'a_c*'", "abcd", False),
    ("f: it's", "IT'S", True),
    # numbers and truth values are the same as their texts
    ("f: 4624", 4624, True),
    ("f: 4624", "4624", True),
    ("f: 4624", 4624.0, True),
    ("f: 4624", 4625, False),
    ("f: 4624", "04624", False),
    ("f: '4624'", 4624, True),
    ("f: -1", -1, True),
    ("f: 1.5", 1.5, True),
    ("f: 1.5", "1.5", True),
    ("f: 1.0", 1, True),
    ("f: 0", 0, True),
    ("f: 0", False, False),
    ("f: '46*'", 4624, True),
    ("f|contains: '62'", 4624, True),
    ("f: true", True, True),
    ("f: true", "True", True),
    ("f: true", "false", False),
    ("f: true", 1, False),
    ("f: 'true'", True, True),
    ("f: false", False, True),
    # null, and the empty text
    ("f: null", None, True),
    ("f: null", "", True),
    ("f: null", "x", False),
    ("f: null", 0, False),
    ("f:", None, True),
    ("f: []", None, True),
    ("f: []", "x", False),
    ("f: [null, abc]", None, True),
    ("f: [null, abc]", "abc", True),
    ("f: [null, abc]", "x", False),
    ("f: ''", "", True),
    ("f: ''", None, False),
    ("f: ''", "x", False),
    # parts of texts
    ("f|contains: bc", "aBCd", True),
    ("f|contains: bc", "acb", False),
    ("f|contains: bc", None, False),
    ("f|contains: ''", "", True),
    ("f|contains: ''", None, False),
    ("f|contains: a*c", "xxabbcyy", True),
    ("f|contains: a?c", "xxacyy", False),
    ("f|contains: '*a*'", "xay", True),
    (r"f|contains: '\'", "a\\b", True),
    ("f|startswith: ab", "ABc", True),
    ("f|startswith: ab", "cab", False),
    ("f|startswith: a?c", "abcd", True),
    ("f|endswith: bc", "aBC", True),
    ("f|endswith: bc", "bcd", False),
    ("f|endswith: '.exe'", "C:\\a.EXE", True),
    ("f|contains: [x, y]", "by", True),
    ("f|contains: [x, y]", "bz", False),
    ("f|contains|all: [x, y]", "yx", True),
    ("f|contains|all: [x, y]", "x", False),
    ("f|contains|all: [x, y]", None, False),
    ("f|all: ['*x*', '*y*']", "xy", True),
    # case
    ("f|cased: Abc", "Abc", True),
    ("f|cased: Abc", "abc", False),
    ("f|contains|cased: Bc", "aBcd", True),
    ("f|contains|cased: Bc", "abcd", False),
    ("f|startswith|cased: A", "abc", False),
    ("f|endswith|cased: C", "abC", True),
    ("f|cased: A*c", "Abbc", True),
    ("f|cased: A*c", "abbc", False),
    ("f|cased: ''", "", True),
    # regular expressions match anywhere, with regard to case
    ("f|re: 'b+'", "abbc", True),
    ("f|re: 'b+'", "aBBc", False),
    ("f|re: '^b'", "ab", False),
    ("f|re: '^a.c$'", "abc", True),
    ("f|re: '^a.c$'", "a\nc", False),
    ("f|re: 'b'", None, False),
    (r"f|re: '\d{2}'", 4624, True),
    (r"f|re: 'a\\b'", "a\\b", True),
    (r"f|re: 'a\*b'", "a*b", True),
    ("f|re: 'a|x'", "box", True),
    ("f|re: ['^a', '^b']", "bcd", True),
    ("f|re|all: ['a', 'b']", "ba", True),
    ("f|re|all: ['a', 'b']", "a", False),
    ("f|re|i: 'B+'", "abbc", True),
    ("f|re|ignorecase: 'B+'", "abbc", True),
    ("f|re|m: '^b'", "a\nb", True),
    ("f|re: '^b'", "a\nb", False),
    ("f|re|multiline: 'a$'", "a\nb", True),
    ("f|re|s: 'a.b'", "a\nb", True),
    ("f|re: 'a.b'", "a\nb", False),
    ("f|re|dotall|i: 'A.B'", "a\nb", True),
    ("f|re|i|m|s: '^B.C$'", "a\nb\nc\nd", True),
    ("f|re|contains: 'b'", "abc", True),
    ("f|re|startswith: '^a'", "abc", True),
    ("f|re|endswith: 'c'", "abc", True),
    # networks
    ("f|cidr: 10.0.0.0/8", "10.1.2.3", True),
    ("f|cidr: 10.0.0.0/8", "11.0.0.0", False),
    ("f|cidr: 10.0.0.0/8", "n/a", False),
    ("f|cidr: 10.0.0.0/8", "10.1", False),
    ("f|cidr: 10.0.0.0/8", None, False),
    ("f|cidr: 10.0.0.0/8", 10, False),
    ("f|cidr: [192.168.0.0/16, 'fe80::/10']", "FE80::1", True),
    ("f|cidr: [192.168.0.0/16, 'fe80::/10']", "192.168.255.255", True),
    ("f|cidr: 127.0.0.1/32", "127.0.0.1", True),
    ("f|cidr: '::1/128'", "0:0:0:0:0:0:0:1", True),
    # order: numbers, and texts that are written like them
    ("f|lt: 10", 9, True),
    ("f|lt: 10", 10, False),
    ("f|lt: 10", "9", True),
    ("f|lt: 10", "9.5", True),
    ("f|lt: 10", "x", False),
    ("f|lt: 10", None, False),
    ("f|lte: 10", 10, True),
    ("f|gt: 10", "100", True),
    ("f|gt: 10", 10, False),
    ("f|gt: 10", True, False),
    ("f|gte: 10", 10.0, True),
    ("f|gte: 1.5", 1.4, False),
    ("f|gt: -5", "-4", True),
    # there, or not
    ("f|exists: true", "x", True),
    ("f|exists: true", "", True),
    ("f|exists: true", None, False),
    ("f|exists: false", None, True),
    ("f|exists: false", "x", False),
    # not
    ("f|neq: abc", "abc", False),
    ("f|neq: abc", "def", True),
    ("f|neq: abc", None, True),
    ("f|neq: 5", 5, False),
    ("f|neq: 5", 6, True),
    ("f|neq: [a, b]", "b", False),
    ("f|neq: [a, b]", "c", True),
    ("f|contains|neq: b", "abc", False),
    ("f|cidr|neq: 10.0.0.0/8", "11.0.0.1", True),
    ("f|cidr|neq: 10.0.0.0/8", "n/a", True),
    # encodings
    ("f|base64: foo", "Zm9v", True),
    ("f|base64|contains: foo", "xxZm9vxx", True),
    ("f|base64offset|contains: foobar", base64.b64encode(b"foobar!").decode(), True),
    ("f|base64offset|contains: foobar", base64.b64encode(b" foobar!").decode(), True),
    ("f|base64offset|contains: foobar", base64.b64encode(b"  foobar!").decode(), True),
    ("f|base64offset|contains: foobar", base64.b64encode(b"fobar").decode(), False),
    ("f|wide|base64offset|contains: ping", base64.b64encode("xping".encode("utf-16-le")).decode(), True),
    ("f|utf16|base64|contains: ping", base64.b64encode("ping".encode("utf-16")).decode(), True),
    ("f|utf16be|base64offset|contains: ping", base64.b64encode("ping".encode("utf-16-be")).decode(), True),
    ("f|wide: ab", "a\0b\0", True),
    # dashes
    ("f|windash|contains: ' -param'", "cmd /param", True),
    ("f|windash|contains: ' -param'", "cmd -param", True),
    ("f|windash|contains: ' -param'", "cmd –param", True),
    ("f|windash|contains: ' -param'", "cmd +param", False),
    ("f|windash|contains|all: [' -a', ' -b']", "x /a -b", True),
    ("f|windash|contains|all: [' -a', ' -b']", "x /a /c", False),
    ("f|windash: '-f'", "/f", True),
    # parts of times
    ("f|year: 2024", "2024-05-01T13:45:00Z", True),
    ("f|year: 2024", "2023-05-01T13:45:00Z", False),
    ("f|year|gte: 2024", "2025-01-01", True),
    ("f|year|gt: 2024", "2024-12-31", False),
    ("f|year|lt: 2024", "2023-12-31 23:59", True),
    ("f|year|lte: 2024", "2024-12-31 23:59", True),
    ("f|year|lt: 2024", "1999", False),
    ("f|month: 5", "2024-05-01", True),
    ("f|month: 5", "2024-06-05", False),
    ("f|day: 1", "2024-05-01T00:00:00", True),
    ("f|day|gt: 1", "2024-05-01T00:00:00", False),
    ("f|hour: 13", "2024-05-01T13:45:00Z", True),
    ("f|hour: 13", "2024-05-01 14:13", False),
    ("f|hour|gte: 22", "2024-05-01 23:00", True),
    ("f|hour|lt: 6", "2024-05-01 05:59", True),
    ("f|hour|lt: 0", "2024-05-01 05:59", False),
    ("f|minute: 45", "2024-05-01T13:45:00Z", True),
    ("f|minute|lte: 44", "2024-05-01T13:45:00Z", False),
    ("f|hour: 13", None, False),
    ("f|hour: 13", "13", False),
]


@pytest.mark.parametrize(("fields", "value", "expected"), TABLE, ids=[f"{row[0]} | {row[1]!r}" for row in TABLE])
def test_a_field(fields: str, value: Any, expected: bool) -> None:
    events = [{}, {"f": None}] if value is None else [{"f": value}]
    events = [{**event, "g": "x"} for event in events]
    rule = read(fields)
    assert answers(rule, events) == [expected] * len(events)
    # Sigma knows no unknown: what does not hold is denied.
    assert answers({**rule, "detection": {**rule["detection"], "condition": "not selection"}}, events) == [
        not expected
    ] * len(events)


def test_every_modifier_of_pysigma_is_in_the_table() -> None:
    from sigma.modifiers import modifier_mapping

    used = {part for fields, _, _ in TABLE for part in fields.partition(":")[0].split("|")[1:]}
    assert set(modifier_mapping) - used == {"expand", "fieldref", "week"}  # have tests of their own


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"f": "x", "g": "x"}, True),
        ({"f": "x", "g": "X"}, True),
        ({"f": "x", "g": "y"}, False),
        ({"f": 5, "g": "5"}, True),
        ({"f": "x"}, False),
        ({"g": "x"}, False),
        ({}, False),
    ],
)
def test_two_fields(event: dict[str, Any], expected: bool) -> None:
    assert answers(selection({"f|fieldref": "g"}), [event]) == [expected]
    assert answers(selection({"f|fieldref": "g"}, "not selection"), [event]) == [not expected]


@pytest.mark.parametrize(
    ("f", "g", "starts", "ends", "contains"),
    [
        ("abcd", "AB", True, False, True),
        ("abcd", "cd", False, True, True),
        ("abcd", "bc", False, False, True),
        ("abcd", "abcd", True, True, True),
        ("abcd", "abcde", False, False, False),
        ("abcd", "a%", False, False, False),
        ("a*", "*", False, True, True),
        (4624, 62, False, False, True),
        ("", "", True, True, True),
        ("abcd", None, False, False, False),
        (None, "a", False, False, False),
    ],
)
def test_one_field_in_another(f: Any, g: Any, starts: bool, ends: bool, contains: bool) -> None:
    event = {"f": f, "g": g}
    for modifier, expected in (("startswith", starts), ("endswith", ends), ("contains", contains)):
        rule = {f"f|fieldref|{modifier}": "g"}
        assert answers(selection(rule), [event]) == [expected]
        assert answers(selection(rule, "not selection"), [event]) == [not expected]


def test_fields_are_attributes_whatever_their_names() -> None:
    assert answers(selection({"a.b": "x"}), [{"a": {"b": "x"}}, {"a.b": "X"}, {"a": "x"}]) == [True, True, False]
    odd = "it's a `field`, in (any) case"
    assert answers(selection({odd: "x"}), [{odd: "x"}, {"x": odd}]) == [True, False]
    assert answers(selection({"in": "x", "not": "y"}), [{"in": "x", "not": "y"}]) == [True]


@pytest.mark.parametrize(
    ("keywords", "event", "expected"),
    [
        (["mimikatz"], {"a": "run MIMIKATZ.exe"}, True),
        (["mimikatz"], {"a": {"b": ["x", {"c": "Mimikatz"}]}}, True),
        (["mimikatz"], {"mimikatz": "x"}, False),
        (["mimikatz"], {"a": "mimi", "b": "katz"}, False),
        (["a", "b"], {"x": "only b"}, True),
        ([4624], {"x": 4624}, True),
        ([4624], {"x": "EventID 4624"}, True),
        (["a*b"], {"x": "__a__b__"}, True),
        (["a*b"], {"x": "b a"}, False),
        ({"|all": ["one", "two"]}, {"x": "one", "y": "two"}, True),
        ({"|all": ["one", "two"]}, {"x": "one"}, False),
        ({"|contains|all": ["one", "two"]}, {"x": "two one"}, True),
        ({"|cased": "One"}, {"x": "One"}, True),
        ({"|cased": "One"}, {"x": "one"}, False),
        ({"|re": "o+ne$"}, {"x": "ooone"}, True),
        ({"|re": "o+ne$"}, {"x": "oneself"}, False),
        ("alone", {"x": "not alone"}, True),
        ([""], {}, False),
    ],
)
def test_keywords_may_be_anywhere_in_the_event(keywords: Any, event: dict[str, Any], expected: bool) -> None:
    assert answers(selection(keywords), [event]) == [expected]
    assert answers(selection(keywords, "not selection"), [event]) == [not expected]


def test_keywords_beside_fields_are_all_asked_for() -> None:
    rule = selection({"EventID": 1, "|all": ["x", "y"]})
    assert answers(rule, [{"EventID": 1, "a": "xy"}, {"EventID": 1, "a": "x"}, {"a": "xy"}]) == [True, False, False]


PLACEHOLDERS = """
name: site
vars: {admins: [root, adm*], empty: []}
transformations:
- {type: value_placeholders}
"""


def test_placeholders_get_their_values_from_a_pipeline(tmp_path: Any) -> None:
    pipeline = tmp_path / "site.yml"
    pipeline.write_text(PLACEHOLDERS)
    events: list[dict[str, Any]] = [{"user": "root"}, {"user": "admin"}, {"user": "guest"}, {}]
    rule = selection({"user|expand": "%admins%"})
    assert answers(rule, events, [str(pipeline)]) == [True, True, False, False]
    denied = selection({"user|expand": "%admins%"}, "not selection")
    assert answers(denied, events, [pipeline]) == [False, False, True, True]
    within = selection({"user|expand|endswith": "x%admins%"})
    assert answers(within, [{"user": "a xROOT"}, {"user": "root"}], [pipeline]) == [True, False]
    with pytest.raises(NotSupported, match=r"the placeholder %admins% has no value\nHint: .*value_placeholders"):
        said(rule)
    with pytest.raises(NotSupported, match="placeholder %admins% has no value"):
        said(selection({"user|re|expand": "^%admins%$"}))


def test_a_pipeline_may_put_a_filter_in_place_of_a_placeholder(tmp_path: Any) -> None:
    pipeline = tmp_path / "lists.yml"
    template: dict[str, Any] = {
        "name": "lists",
        "transformations": [
            {"type": "query_expression_placeholders", "include": ["hosts"], "expression": "{field} in ('a', 'b')"}
        ],
    }
    pipeline.write_text(yaml.safe_dump(template))
    rule = selection({"host|expand": "%hosts%"})
    assert answers(rule, [{"host": "a"}, {"host": "c"}, {}], [pipeline]) == [True, False, False]
    denied = selection({"host|expand": "%hosts%"}, "not selection")
    assert answers(denied, [{"host": "a"}, {"host": "c"}, {}], [pipeline]) == [False, True, True]
    template["transformations"][0]["expression"] = "{field} ~~ 5"
    pipeline.write_text(yaml.safe_dump(template))
    with pytest.raises(NotSupported, match="which is no filter"):
        said(rule, [pipeline])


@pytest.mark.parametrize(
    ("fields", "kind", "message"),
    [
        ("f|re: '(?<=a)b'", NotSupported, r"'\(\?<=a\)b' cannot be said in RE2.*\nHint: RE2 has no look-around"),
        (r"f|re: '(a)\1'", NotSupported, "cannot be said in RE2"),
        ("f|re: 'a++'", NotSupported, "cannot be said in RE2"),
        ("f|re: '('", DialectError, "is invalid"),
        ("f|cidr: 10.0.0.0/33", DialectError, "Invalid CIDR"),
        ("f|cidr: 10.0.0.1/8", DialectError, "host bits"),
        ("f|lt: abc", DialectError, "incompatible to value type"),
        ("f|exists: maybe", DialectError, "incompatible to value type"),
        ("f|shout: abc", DialectError, "Unknown modifier 'shout'"),
        ("f|base64: a*", DialectError, "wildcards is not allowed"),
        ("f|week: 3", NotSupported, "the number of a week"),
        ("f|re: 5", DialectError, "has a type that it must not have"),
        ("{}", DialectError, "Detection is empty"),
    ],
)
def test_what_is_refused(fields: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        said(read(fields))


PATHS = ["C:\\Program Files\\a.exe", 'say "x"', 5, None, ["nested"]]


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"Data|contains": "\\\\\\\\"}, False),  # two backslashes side by side: JSON has them, and no element does
        ({"Data|contains": "files\\a"}, True),
        ({"Data|startswith": "C:\\Program"}, True),
        ({"Data|startswith": "["}, False),
        ({"Data|endswith": ".exe"}, True),
        ({"Data|endswith": "]"}, False),
        ({"Data|re": r"^C:\\Program Files\\a\.exe$"}, True),
        ({"Data|re": '","'}, False),
        ({"Data": 'say "x"'}, True),
        ({"Data": 5}, True),
        ({"Data": "5"}, True),
        ({"Data": "nested"}, True),
        ({"Data|cased": "C:\\program files\\a.exe"}, False),
        ({"Data|contains|all": ["program", "say"]}, True),
        ({"Data|contains|all": ["program", "no such"]}, False),
        ({"Data|exists": True}, True),
        ({"Data": None}, False),
        ({"Data": "*"}, True),
        ({"Data|gt": 4}, True),
        ({"Data|windash|contains": "-x"}, False),
    ],
)
def test_elements_of_lists_are_tested_one_by_one(fields: dict[str, Any], found: bool) -> None:
    events: list[dict[str, Any]] = [{"Data": PATHS}, {"Data": "other"}, {}]
    one = selection(fields)
    denied = selection(fields, "not selection")
    assert answers(one, events)[0] is found
    assert answers(denied, events)[0] is not found
    matcher = Subscriptions()
    matcher.add("r", said(one))
    texts = [[text for text in PATHS if isinstance(text, str)], None, []]
    table = pa.table({"Data": pa.array(texts, pa.list_(pa.string()))})
    as_table = set(matcher.compile().match_batch(table)["event"].to_pylist())
    rows = [{"Data": row} if row is not None else {} for row in texts]
    assert [row in as_table for row in range(3)] == answers(one, rows)


def test_a_path_leads_through_lists_of_objects_to_every_element() -> None:
    one = selection({"user.groups|endswith": "min"})
    events: list[dict[str, Any]] = [
        {"user": {"groups": ["users", "Admin"]}},
        {"user": [{"groups": "users"}, {"groups": ["admin"]}]},
        {"user": {"groups": [{"name": "admin"}]}},  # an object is its JSON
    ]
    assert answers(one, events) == [True, True, False]
