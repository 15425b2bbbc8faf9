"""Checksums of rows, so that damaged ones are not served: they are set aside, counted and logged.

A checksum (CRC-32) covers the columns with the content of a row. Those that change in place (whether a notification was
delivered, when a subscription expires) are not in it.
"""

from __future__ import annotations

import logging
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any, Final

SUMMED: Final[Mapping[str, tuple[str, ...]]] = {
    "events": (
        "stream",
        "tenant",
        "received",
        "trace",
        "source",
        "id",
        "body",
    ),  # what a publication shares comes first
    "notifications": ("id", "subscription", "tenant", "event", "kind", "created", "trace", "body"),
    "subscriptions": (
        *("id", "tenant", "stream", "subscriber", "kind", "rule", "dialect", "origin", "predict", "delivery"),
        *("version", "since", "when"),
    ),
    "offers": ("id", "tenant", "stream", "publisher", "created", "expires", "when"),
}
_HEADS: Final[Mapping[str, tuple[str, Callable[[Any], tuple[Any, ...]]]]] = {
    table: ("\0".join(["%s"] * (len(columns) - 1)), itemgetter(*columns[:-1])) for table, columns in SUMMED.items()
}
_LASTS: Final = {table: columns[-1] for table, columns in SUMMED.items()}
_TOLD: Final = 10_000  # damaged rows that are remembered
_LOG: Final = logging.getLogger("vedette.service.store")


def row_sum(table: str, row: Mapping[str, Any]) -> int | None:
    """The checksum of a row; None if its body is not bytes, as it is damaged."""
    template, head = _HEADS[table]
    found = zlib.crc32((template % head(row)).encode(errors="surrogatepass"))
    last = row[_LASTS[table]]
    if _LASTS[table] != "body":
        return zlib.crc32(str(last).encode(errors="surrogatepass"), found)
    return zlib.crc32(last, found) if isinstance(last, bytes) else None


def event_sums(
    stream: str, tenant: str, received: int, trace: str | None, some: Iterable[tuple[str, str, bytes]]
) -> list[int]:
    """The checksums of events published together, from the source, id and body of each; as `row_sum`."""
    crc32 = zlib.crc32
    shared = crc32(f"{stream}\0{tenant}\0{received}\0{trace}\0".encode(errors="surrogatepass"))
    return [
        crc32(body, crc32(f"{source}\0{id_}".encode("utf-8", "surrogatepass"), shared)) for source, id_, body in some
    ]


def notification_sum(head: tuple[Any, ...], body: bytes) -> int:
    """The checksum of a notification, from the values of the columns before `body`; as `row_sum`."""
    return zlib.crc32(body, zlib.crc32((_HEADS["notifications"][0] % head).encode(errors="surrogatepass")))


class DamagedRows:
    """Damaged rows that were found since the service began, by table."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        self._told: set[tuple[str, object]] = set()

    def fits(self, table: str, row: Any) -> bool:
        """Whether a row's checksum fits; if not, the row is counted and logged."""
        values = row._mapping
        wanted = values["sum"]
        if wanted is not None and row_sum(table, values) == wanted:
            return True
        self.tell(table, values["number"], "its checksum does not fit")
        return False

    def whole(self, table: str, rows: Iterable[Any]) -> list[Any]:
        """The rows whose checksums fit."""
        return [row for row in rows if self.fits(table, row)]

    def tell(self, table: str, row: object, reason: str) -> None:
        """Count a damaged row, and log where it is, once."""
        if (table, row) in self._told:
            return
        if len(self._told) < _TOLD:
            self._told.add((table, row))
        self.found[table] += 1
        _LOG.error("stored data is damaged: set aside", extra={"table": table, "row": row, "reason": reason})
