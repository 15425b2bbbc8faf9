"""Files that are cut into many pieces, and the schema of random events."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.patterns.generate import SCHEMA
from vedette.io import byte_sources, pieces
from vedette.io.pieces import PieceSizes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def many_pieces(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are cut as if they were large."""
    from vedette.spark import file_job

    monkeypatch.setattr(file_job, "sizes", lambda spark, matches: PieceSizes(12, 40))
    monkeypatch.setattr(byte_sources, "BLOCK", 1 << 11)
    monkeypatch.setattr(pieces, "_LEAST_ROWS", 10)
    monkeypatch.setattr(pieces, "_LEAST_BYTES", 1 << 9)


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    """The schema of random events; times are in seconds."""
    place = tmp_path / "schema.yaml"
    types = {**{path: SCHEMA.spelling(path) for path in SCHEMA}, "time": "float"}
    place.write_text("".join(f"{path}: {type_}\n" for path, type_ in types.items()))
    return place
