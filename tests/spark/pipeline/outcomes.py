"""Outcomes as filters give them, with kept columns of many types, for the tests of what comes after."""

from __future__ import annotations

import hashlib
from datetime import UTC, date, datetime
from decimal import Decimal

from pyspark.sql import DataFrame, SparkSession

KEPT = (
    "price double, count int, at timestamp, day date, fine decimal(10,2), `odd name` string, raw_bytes binary, "
    "place_ struct<lat: double, tags: array<string>>, scores map<string,int>, legs array<struct<a: int, b: string>>"
)
SCHEMA = (
    "event string, subscription string, subscriber string, kind string, version string, "
    f"{KEPT}, place string, reason string, raw string"
)


def outcomes(spark: SparkSession, begin: int, end: int, *, partitions: int = 3) -> DataFrame:
    """A match for each number, and a reject for each third; every fifth has nothing but nulls in what is kept."""
    rows: list[tuple[object, ...]] = []
    for number in range(begin, end):
        kept: tuple[object, ...] = (None,) * 10
        if number % 5:
            kept = (
                number / 4,
                number,
                datetime(2026, 1, 2, 3, 4, 5, number, tzinfo=UTC),
                date(2026, 1, 1 + number % 28),
                Decimal(number) / 4,
                f'line\n"{number}" é {{}} \\',
                bytes([number % 256, 255]),
                (1.5, ["a", None]),
                {"k": number},
                [(number, None)],
            )
        head = (f"e{number}", f"s{number % 4}", "alice" if number % 2 else "ops-1", "match", "0123456789ab")
        rows.append((*head, *kept, None, None, None))
        if number % 3 == 0:
            rows.append((None,) * 15 + (f"events.jsonl:{number}", "is no JSON", "{x\n"))
    return spark.createDataFrame(rows, SCHEMA).repartition(partitions)


def notification_id(event: str, subscription: str, kind: str = "match") -> str:
    """What the id of a notification should be, worked out here."""
    text = "".join(f"{len(part)}:{part}" for part in (event, subscription, kind))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def ids(begin: int, end: int) -> set[str]:
    """The ids of the notifications of these numbers."""
    return {notification_id(f"e{number}", f"s{number % 4}") for number in range(begin, end)}
