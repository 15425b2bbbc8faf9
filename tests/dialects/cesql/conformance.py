"""The conformance cases of CloudEvents SQL, as its specification publishes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import yaml

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "conformance" / "cesql"
CASES = 275  # in all files
_EVENT = {"specversion": "1.0", "id": "an-id", "source": "/somewhere", "type": "com.example.some"}


class Case(NamedTuple):
    """An expression, an event, and what comes of them."""

    name: str
    expression: str
    event: dict[str, Any]
    result: Any  # None where the case says nothing of it
    error: str | None

    @property
    def passes(self) -> bool:
        """The event passes if the expression is a filter."""
        return self.result is True and self.error is None


class _Plain(yaml.SafeLoader):
    """YAML without times: those of events are texts."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - the way in which PyYAML keeps them
        first: [(tag, pattern) for tag, pattern in found if not tag.endswith(":timestamp")]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def cases() -> list[Case]:
    """All of them, or none where they are missing."""
    found: list[Case] = []
    for path in sorted(FOLDER.glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        typed = yaml.load(text, _Plain)["tests"]
        # An expression such as TRUE is a text, whatever YAML takes it for.
        plain = yaml.load(text, yaml.BaseLoader)["tests"]
        for one, written in zip(typed, plain, strict=True):
            event = one.get("event") or {**_EVENT, **(one.get("eventOverrides") or {})}
            name = f"{path.stem}: {one['name']}"
            found.append(Case(name, written["expression"], event, one.get("result"), one.get("error")))
    return found
