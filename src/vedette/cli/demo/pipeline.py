"""The demo as a pipeline file, to run and change."""

from __future__ import annotations

import json
from pathlib import Path
from string import Template

_PIPELINE = Template("""\
# The flights and subscribers of the demo as a pipeline. Paths are relative to this file.

keep = ["dep_delay"]                # what notifications carry of the flight, besides its id

[subscriptions]
file = "subscriptions.jsonl"

[source]
type = "parquet"
path = "flights.parquet"

[[sinks]]
name = "everybody"
type = "parquet"
path = "notifications"
if_exists = "replace"

[[sinks]]
name = "one"
type = "console"
subscribers = [$subscriber]
""")


def write_pipeline(path: Path, subscriber: str) -> None:
    """Write a pipeline: all notifications into a folder, those of one subscriber on the terminal."""
    path.write_text(_PIPELINE.substitute(subscriber=json.dumps(subscriber, ensure_ascii=False)), encoding="utf-8")
