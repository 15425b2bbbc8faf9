"""cel-python: programs one after another, as its users do."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import celpy
from celpy.adapter import json_to_cel

from benchmarks.peers.protocol import Asked
from benchmarks.peers.python_driver import main
from benchmarks.peers.translations.cel import EVENT


class Cel:
    """A list of programs."""

    version = version("cel-python")

    def build(self, rules: Sequence[tuple[int, str]], asked: Asked, late: Callable[[], bool]) -> bool:
        """The interpreting runner: the compiled one of 0.5.0 does not know `false && error`, nor its own Booleans."""
        environment = celpy.Environment(runner_class=celpy.InterpretedRunner)
        self.floats = {name for name, kind in asked.kinds.items() if kind == "float"}
        self.rules: list[tuple[int, Any]] = []
        for id_, text in rules:
            self.rules.append((id_, environment.program(environment.compile(text))))
            if late():
                return False
        return True

    def parse(self, line: bytes) -> Any:
        """Its own types, which it compares strictly: an attribute of floats has floats."""
        event = json.loads(line)
        for name in self.floats & event.keys():
            event[name] = float(event[name])
        return {EVENT: json_to_cel(event)}

    def match(self, event: Any) -> list[int]:
        """All that match."""
        return [id_ for id_, program in self.rules if program.evaluate(event)]


if __name__ == "__main__":
    main(Cel, deep=True)
