"""Sink of POST requests: JSON arrays of notifications, sent by the executors, with retries.

A request that fails for good fails the batch, which is then sent again when the pipeline is started again: at least
once. Which notifications share a request follows from their ids alone, so a request that is sent again has the same
body and the same `Idempotency-Key`, by which the receiver can recognise it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import urllib3
from pyspark.sql import DataFrame, SparkSession
from urllib3.exceptions import HTTPError
from urllib3.response import BaseHTTPResponse
from urllib3.util.retry import Retry

from vedette.errors import DeliveryError
from vedette.spark.pipeline.job_descriptions import described
from vedette.spark.pipeline.sinks.base import Batch, Delivery
from vedette.spark.pipeline.sinks.rows import as_json

_CONNECTIONS = 4  # at a time, over all executors: kind to the receiver, and it keeps requests the same on any cluster
_LONGEST_WAIT = 60  # seconds between two attempts, whatever the receiver asks for
_SENT = "problem string"


class _Attempts(Retry):
    """Retries after 429, 5xx and lost connections, no sooner than the receiver asks for."""

    RETRY_AFTER_STATUS_CODES = frozenset({429, 503})  # not 413: a body that is too large stays so

    def get_retry_after(self, response: BaseHTTPResponse) -> float | None:
        """Seconds that the receiver asks to wait, up to a limit."""
        asked = super().get_retry_after(response)
        return None if asked is None else min(asked, _LONGEST_WAIT)


@dataclass(frozen=True, slots=True)
class Receiver:
    """The address and the settings of requests: all that is sent to the executors."""

    url: str = field(repr=False)  # may hold a secret itself, as addresses of chat rooms do
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    batch_size: int = 100
    timeout: float = 10.0
    retries: int = 5
    backoff: float = 0.5  # seconds before the second attempt; doubled before each later one

    @property
    def host(self) -> str:
        """The host of the address, which may be shown in messages."""
        return urlsplit(self.url).hostname or "?"

    def send(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Post the rows (id, JSON) of a partition; returns one row, the reason, if a request failed for good."""
        pool = urllib3.PoolManager(num_pools=1, maxsize=1)
        try:
            for ids, bodies in _grouped(batches, self.batch_size):
                if (problem := self._post(pool, ids, bodies)) is not None:
                    yield pa.RecordBatch.from_pydict({"problem": [problem]})
                    return
        finally:
            pool.clear()

    def _post(self, pool: urllib3.PoolManager, ids: list[str], bodies: list[str]) -> str | None:
        attempts = _Attempts(
            total=self.retries,
            redirect=False,
            allowed_methods=None,
            status_forcelist=[429, *range(500, 600)],
            backoff_factor=self.backoff,
            backoff_max=_LONGEST_WAIT,
            raise_on_status=False,
        )
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "vedette",
            **self.headers,
            "Idempotency-Key": sha256("\n".join(ids).encode()).hexdigest(),
        }
        body = ("[" + ",".join(bodies) + "]").encode()
        try:
            answer = pool.request(
                "POST", self.url, body=body, headers=headers, retries=attempts, timeout=self.timeout, redirect=False
            )
        except HTTPError as error:
            # Only the kind of error: its text repeats the address.
            reason = getattr(error, "reason", None) or error
            return f"no answer ({type(reason).__name__}) after {self.retries + 1} attempts"
        if 200 <= answer.status < 300:
            return None
        tried = f" after {self.retries + 1} attempts" if answer.status == 429 or answer.status >= 500 else ""
        return f"status {answer.status}{tried}"


class RequestSink:
    """Sends notifications by POST."""

    delivery: Delivery = "at least once"

    def __init__(self, name: str, receiver: Receiver) -> None:
        self.name = name
        self._receiver = receiver

    def check(self, spark: SparkSession, *, streaming: bool) -> None:
        """Nothing to check: whether the receiver answers is known with the first request."""

    def write(self, notifications: DataFrame, batch: Batch) -> None:
        """Send all notifications; an error if a request failed for good."""
        with described(notifications.sparkSession, batch.doing(f"send {self.name}")):
            rows = notifications.select("id", as_json(notifications).alias("body"))
            # By id, so that the same rows make the same requests whichever tasks they came from.
            spread = rows.repartition(_CONNECTIONS, "id").sortWithinPartitions("id")
            problems = [row.problem for row in spread.mapInArrow(self._receiver.send, _SENT).collect()]
        if problems:
            raise DeliveryError(
                f"the sink {self.name}: {self._receiver.host} did not take {batch}: {problems[0]}\n"
                "Hint: mend the receiver or the sink's `url` and headers, and start the pipeline again: "
                "the batch is sent again, with the same ids"
            )


def _grouped(batches: Iterable[Any], size: int) -> Iterator[tuple[list[str], list[str]]]:
    """Ids and bodies in groups of a size, whatever the sizes of the record batches are."""
    ids: list[str] = []
    bodies: list[str] = []
    for batch in batches:
        ids += batch.column(0).to_pylist()
        bodies += batch.column(1).to_pylist()
        while len(ids) >= size:
            yield ids[:size], bodies[:size]
            ids, bodies = ids[size:], bodies[size:]
    if ids:
        yield ids, bodies
