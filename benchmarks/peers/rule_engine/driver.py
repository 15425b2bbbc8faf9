"""rule-engine: rules one after another, as its users do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import orjson
import rule_engine  # type: ignore[import-untyped,unused-ignore]

from benchmarks.peers.protocol import Asked
from benchmarks.peers.python_driver import main


class RuleEngine:
    """A list of compiled rules."""

    version = version("rule-engine")

    def build(self, rules: Sequence[tuple[int, str]], asked: Asked, late: Callable[[], bool]) -> bool:
        """What an event does not have is null."""
        context = rule_engine.Context(default_value=None)
        self.rules: list[tuple[int, Callable[[Any], bool]]] = []
        for id_, text in rules:
            self.rules.append((id_, rule_engine.Rule(text, context=context).matches))
            if late():
                return False
        return True

    def parse(self, line: bytes) -> Any:
        """A dict."""
        return orjson.loads(line)

    def match(self, event: Any) -> list[int]:
        """All that match."""
        return [id_ for id_, matches in self.rules if matches(event)]


if __name__ == "__main__":
    main(RuleEngine, deep=True)
