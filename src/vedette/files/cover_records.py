"""What the record of a subscription says to a covering set, and its answer as a record."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from vedette.covering.cover_set import Answer, Opaque, Said
from vedette.files.problems import refusal
from vedette.files.subscriptions import SubscriptionRecord

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


def said_of(record: SubscriptionRecord) -> Said:
    """What is compared; NotSupported if it is not known how."""
    refused = refusal(record, patterns=True)
    if refused is not None:
        raise refused
    if record.predict is None:
        return record.when
    # Forecasts are told beside matches, so that only a pattern with the same wish says the same.
    return Opaque(f"{record.when}\n{json.dumps(record.predict, sort_keys=True)}", pattern=True)


def record_of(answer: Answer, *, witness: bool) -> dict[str, Any]:
    """As JSON has it."""
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


def table_of(answers: Iterable[Answer], *, witness: bool) -> Any:
    """As Parquet and Spark have them: a witness is the text of a JSON object."""
    records = [record_of(answer, witness=witness) for answer in answers]
    for record in records:
        if "witness" in record:
            record["witness"] = json.dumps(record["witness"], ensure_ascii=False)
    return pa.Table.from_pylist(records, COLUMNS)
