"""Requests that nobody should send, made of what OpenAPI says of every endpoint, and of a seed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from random import Random
from typing import Any, Final, NamedTuple
from urllib.parse import quote, quote_from_bytes

METHODS: Final = ("get", "put", "post", "delete", "patch", "head", "options")
_DEEP: Final = b'{"a":'
_TEXTS: Final = (
    *(
        "",
        " ",
        "\0",
        "a\0b",
        "\ufeff",
        "\ufffd",
        "\u202e",
        "\U0001f600",
        "\x7f",
        "\n",
        "\r\nX: y",
        "é",
        "ı",
        "ß",
        "\u2028",
    ),
    *("null", "true", "NaN", "-1", "1e999", "0x1", "..", "../..", "/", "//", "\\", "%", "%00", "%2f", "%%", "?", "#"),
    *("'", '"', "';--", "' or 1=1", "x = 1", "x > ", "[x = 1] , [x = 2]", "[", "]", "(" * 300, "not " * 300 + "x = 1"),
    *("x matches '(a+)+$'", "x in (" + "1," * 2000 + "1)", "any(strings(*)) icontains 'a'", "near(1)", "f(x)"),
    *(
        "default",
        "n_x",
        "s_0",
        "vt_x",
        "http://127.0.0.1/",
        "https://[::1]/",
        "file:///etc/passwd",
        "whsec_",
        "a" * 5_000,
    ),
    *("1970-01-01T00:00:00Z", "9999-99-99", "application/json", "eventbridge", "sigma", "cesql", "queue", "webhook"),
)
_NAMES: Final = ("x", "x", "x", "id", "time", "data", "specversion", "source", "type")
_NUMBERS: Final = (
    *(0, -0.0, 1, -1, 0.1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -(2**63), 2**64, 10**30, -(10**40)),
    *(1e308, -1e308, 5e-324, 1e-400, 1.5),
)
_MEDIA: Final = (
    *("application/json", "application/json", "application/json; charset=utf-16", "text/plain", "", "x", "a/b/c"),
    *("application/cloudevents+json", "application/cloudevents-batch+json", "application/cloudevents+avro"),
    *("application/x-ndjson", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "é"),
)
_CLOUD: Final = (
    "specversion",
    "id",
    "source",
    "type",
    "time",
    "subject",
    "datacontenttype",
    "data",
    "x" * 70,
    "a-b",
    "",
)
_BROKEN: Final = (
    *(
        b"",
        b" ",
        b"{",
        b"}",
        b"[",
        b"[[",
        b'{"a"',
        b'{"a":',
        b'{"a":1',
        b'{"a":1,}',
        b"{'a':1}",
        b"[1,]",
        b"nul",
        b"tru",
    ),
    *(b"NaN", b"Infinity", b"-", b"01", b"1e", b"1e400", b"-1e400", b'"\\', b'"\\u12', b'"\\ud800"', b'{"\\udfff":1}'),
    *(
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b'{"a":"\xff"}',
        b'{"a":"\xed\xa0\x80"}',
        b"\x00",
        b'{"a":"\x00"}',
        b'{"a":1}{"a":2}',
    ),
    *(b"\n\n", b'{"x":1}\n{', b'{"x":1}\n\n[1]', b"\x1f\x8b\x08\x00", b"<a/>", b"a=1&b=2", b"--x\r\n\r\n--x--"),
)


class Request(NamedTuple):
    """One of them."""

    method: str
    path: bytes  # as it stands on the wire, with its query
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Operation(NamedTuple):
    """What OpenAPI says of one endpoint."""

    method: str
    path: str
    parameters: list[dict[str, Any]]
    body: dict[str, Any] | None  # its schema


def operations(document: Mapping[str, Any]) -> list[Operation]:
    """Every endpoint, and some that are none."""
    found = [Operation(method, "/v1/nothing", [], None) for method in METHODS]
    for path, methods in document["paths"].items():
        for method, said in methods.items():
            content = said.get("requestBody", {}).get("content", {})
            schema = content.get("application/json", {}).get("schema")
            found.append(Operation(method, path, said.get("parameters", []), schema))
    return found


def request(chance: Random, operation: Operation, known: Mapping[str, list[str]], keys: list[str]) -> Request:
    """A request to an endpoint that has something wrong with it, most likely; `known` are good parts of paths."""
    path = operation.path
    for one in operation.parameters:
        if one["in"] == "path":
            good = known.get(one["name"], ["default"])
            part = chance.choice(good) if chance.random() < 0.6 else chance.choice(_TEXTS)
            path = path.replace("{" + one["name"] + "}", _quoted(chance, part))
    path += _query(chance, operation)
    method = operation.method if chance.random() < 0.95 else chance.choice(METHODS)
    headers = [(b"content-type", chance.choice(_MEDIA).encode("latin-1"))] if chance.random() < 0.8 else []
    if chance.random() < 0.95:
        headers.append((b"authorization", f"Bearer {chance.choice(keys)}".encode()))
    elif chance.random() < 0.5:
        headers.append((b"authorization", chance.choice((b"", b"Bearer", b"Basic x", b"Bearer \xff\xfe", b"bearer  "))))
    if chance.random() < 0.3:
        headers += _odd_headers(chance, known)
    return Request(method.upper(), path.encode("ascii"), headers, _body(chance, operation))


def _quoted(chance: Random, part: str) -> str:
    if chance.random() < 0.1:
        return quote_from_bytes(chance.randbytes(chance.randrange(1, 8)), safe="")
    return quote(part[:1_000], safe=":" if chance.random() < 0.5 else "")


def _query(chance: Random, operation: Operation) -> str:
    names = [one["name"] for one in operation.parameters if one["in"] == "query"]
    if chance.random() < 0.5:
        return ""
    names += ["limit", "x", "", "after"]
    pairs = []
    for _ in range(chance.randrange(1, 4)):
        value = str(chance.choice(_NUMBERS)) if chance.random() < 0.5 else chance.choice(_TEXTS)[:500]
        pairs.append(f"{chance.choice(names)}={_quoted(chance, value)}")
    # Nobody waits for long here.
    return "?" + chance.choice("&;").join(one for one in pairs if not one.startswith("wait="))


def _odd_headers(chance: Random, known: Mapping[str, list[str]]) -> list[tuple[bytes, bytes]]:
    value = chance.choice(_TEXTS).replace("\r", "").replace("\n", "").replace("\0", "").strip()[:300]
    text = value.encode("utf-8")
    kinds: list[list[tuple[bytes, bytes]]] = [
        [(b"vedette-ticket", chance.choice([one.encode() for one in known.get("ticket", ["vt_"])] + [text]))],
        [(b"last-event-id", text)],
        [(b"content-encoding", chance.choice((b"gzip", b"br", b"x")))],
        [(b"accept", chance.choice((b"", b"text/html", b"x", b"application/xml")))],
        [(b"traceparent", chance.choice((text, b"00-" + b"0" * 32 + b"-" + b"0" * 16 + b"-00", b"00-x")))],
        [(b"origin", text), (b"x-forwarded-for", text)],
        [
            (b"ce-specversion", chance.choice((b"1.0", b"1.0", b"0.3", text))),
            *(
                (b"ce-" + name.encode(), chance.choice((b"x", b"/a", b"%ff", b"%", text)))
                for name in _some(chance, _CLOUD)
            ),
        ],
    ]
    return chance.choice(kinds)


def _some(chance: Random, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if chance.random() < 0.6]


def _body(chance: Random, operation: Operation) -> bytes:
    kind = chance.random()
    if operation.body is None and kind < 0.7:
        return b""
    if kind < 0.15:
        return chance.choice(_BROKEN)
    if kind < 0.2:
        depth = chance.choice((10, 40, 200, 1_000, 3_000))
        return _DEEP * depth + b"1" + b"}" * depth
    if kind < 0.23:
        return b"[" * 500 + b"]" * 500
    made = _like(chance, operation.body or {}) if kind < 0.8 else _any(chance, 4)
    text = json.dumps(made, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
    if kind < 0.3:  # something is missing, or one byte is another
        place = chance.randrange(len(text) + 1)
        text = text[:place] if chance.random() < 0.5 else text[:place] + chance.randbytes(1) + text[place + 1 :]
    elif kind < 0.33:
        text = json.dumps(made).encode(chance.choice(("utf-16", "utf-32", "utf-7")))
    return text


def _like(chance: Random, schema: Mapping[str, Any]) -> Any:
    """What a schema asks for, with something odd here and there."""
    if chance.random() < 0.1:
        return _any(chance, 2)
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return _like(chance, chance.choice(schema[several]))
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else chance.choice(schema["enum"])
    match schema.get("type"):
        case "object":
            known = schema.get("properties", {})
            needed = schema.get("required", ())
            made = {
                name: _like(chance, below) for name, below in known.items() if name in needed or chance.random() < 0.4
            }
            if not known or chance.random() < 0.1:
                made |= {chance.choice(_TEXTS): _any(chance, 3) for _ in range(chance.randrange(3))}
            return made
        case "array":
            return [_like(chance, schema.get("items", {})) for _ in range(chance.choice((0, 1, 2, 3, 30)))]
        case "string":
            return chance.choice(_TEXTS)
        case "integer" | "number":
            return chance.choice(_NUMBERS)
        case "boolean":
            return chance.random() < 0.5
        case "null":
            return None
    return _any(chance, 3)


def _any(chance: Random, depth: int) -> Any:
    """Any JSON."""
    kind = chance.randrange(9 if depth else 6)
    if kind < 3:
        return chance.choice(_TEXTS)
    if kind < 5:
        return chance.choice(_NUMBERS)
    if kind == 5:
        return chance.choice((None, True, False, "\ud800"))
    count = chance.randrange(4)
    if kind == 6:
        return [_any(chance, depth - 1) for _ in range(count)]
    return {
        chance.choice((*_TEXTS, "x", "x", "id", "time", "data", "specversion")): _any(chance, depth - 1)
        for _ in range(count)
    }
