"""Files of made-up events, good and bad ones, the same for the same seed."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from typing import Any

SUBSCRIPTIONS = [
    {"id": "cheap", "when": "price < 50"},
    {"id": "weg", "when": "name in ('a', 'bé', 'line\nend')"},
    {"id": 'quo"te', "when": "price between 10 and 60 or data.deep.x > 3"},
    {"id": "all", "when": "n >= 0 or n < 0"},
    {"id": "tag", "when": "tags contains 'x'"},
]


class Maker:
    """Files of events, good and bad."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def value(self, name: str) -> Any:
        """A value, now and then of another type."""
        choose = self.random.choice
        if self.random.random() < 0.02:
            return choose([None, "odd", True, 7, [1]])
        made: dict[str, Callable[[], Any]] = {
            "price": lambda: self.random.randrange(1000) / 10,
            "name": lambda: choose(["a", "bé", "c", "line\nend", 'q"uote', "日本", ""]),
            "n": lambda: self.random.randrange(-5, 5),
            "tags": lambda: choose([[], ["x"], ["x", "y"], None]),
            "data": lambda: {"deep": {"x": self.random.randrange(6)}},
        }
        return made[name]()

    def event(self) -> dict[str, Any]:
        """An event, perhaps with an id, perhaps a CloudEvent."""
        names = [name for name in ("price", "name", "n", "tags", "data") if self.random.random() < 0.9]
        event = {name: self.value(name) for name in names}
        if self.random.random() < 0.5:
            event = {"id": self.random.choice(["e1", "ü", 17, None, 'i"d']), **event}
        if self.random.random() < 0.1:
            event |= {"specversion": "1.0", "source": "/here", "type": "t"}
        return event

    def line(self) -> bytes:
        """A line of JSON, or none."""
        if self.random.random() < 0.1:
            return self.random.choice([b"", b"  ", b"{", b"[1]", b'{"a": \xff}', b"null", b'{"id": "x"', b'"text"'])
        return json.dumps(self.event(), ensure_ascii=self.random.random() < 0.5).encode()

    def lines(self, count: int) -> bytes:
        """Lines of JSON with all kinds of ends."""
        end = self.random.choice([b"\n", b"\r\n"])
        text = end.join(self.line() for _ in range(count)) + self.random.choice([b"", end, end + end])
        return self.random.choice([b"", b"\xef\xbb\xbf"]) + text

    def table(self, count: int) -> bytes:
        """CSV with rows that do not fit."""
        texts: list[str] = []
        sink = _Texts(texts)
        end = self.random.choice(["\n", "\r\n", "\r"])
        writer = csv.writer(sink, lineterminator=end)
        names = ["price", "name", "n", *(["id"] if self.random.random() < 0.5 else [])]
        writer.writerow(names)
        for number in range(count):
            row = [f"e{number}" if name == "id" else self.value(name) for name in names]
            if self.random.random() < 0.05:
                row = self.random.choice([row[:-1], [*row, 1], [], ["x"]])
            writer.writerow(row)
            if self.random.random() < 0.03:
                texts.append(
                    self.random.choice([end, '"never closed' + end if number > count - 3 else end, "  " + end])
                )
        text = "".join(texts).encode()
        if self.random.random() < 0.3:
            text = text.replace("bé".encode(), b"b\xe9", 1)
        return self.random.choice([b"", b"\xef\xbb\xbf"]) + text


class _Texts:
    def __init__(self, texts: list[str]) -> None:
        self._texts = texts

    def write(self, text: str) -> None:
        self._texts.append(text)
