"""Records of subscriptions as input of a covering set, and its answers as records."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from vedette.covering.cover_set import CoverAnswer, CoverInput, OpaqueSubscription
from vedette.io.subscription_problems import refusal
from vedette.io.subscription_rows import SubscriptionRecord

COLUMNS = pa.schema(
    [
        ("subscription", pa.string()),
        ("covered", pa.bool_()),
        ("by", pa.list_(pa.string())),
        ("method", pa.string()),
        ("certain", pa.bool_()),
        ("error", pa.float64()),
        ("witness", pa.string()),  # JSON
    ]
)


def cover_input_of(record: SubscriptionRecord) -> CoverInput:
    """The text to be compared; NotSupported if there is no way to."""
    refused = refusal(record, patterns=True)
    if refused is not None:
        raise refused
    if record.predict is None:
        return record.when
    # Forecasts are reported beside matches, so that only a pattern with the same options is equal.
    return OpaqueSubscription(f"{record.when}\n{json.dumps(record.predict, sort_keys=True)}", pattern=True)


def record_of(answer: CoverAnswer, *, witness: bool) -> dict[str, Any]:
    """An answer as JSON."""
    record: dict[str, Any] = {
        "subscription": answer.subscription,
        "covered": answer.covered,
        "by": list(answer.by),
        "method": answer.method,
        "certain": answer.certain,
    }
    if answer.error:
        record["error"] = answer.error
    if witness and answer.witness is not None:
        record["witness"] = dict(answer.witness)
    return record


def table_of(answers: Iterable[CoverAnswer], *, witness: bool) -> pa.Table:
    """Answers as a table for Parquet and Spark: a witness is the text of a JSON object."""
    records = [record_of(answer, witness=witness) for answer in answers]
    for record in records:
        if "witness" in record:
            record["witness"] = json.dumps(record["witness"], ensure_ascii=False)
    return pa.Table.from_pylist(records, COLUMNS)
