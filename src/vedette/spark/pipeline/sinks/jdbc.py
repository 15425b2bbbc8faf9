"""Sink of a database table, exactly once: rows go to a staging table, then into place in one transaction.

That transaction also writes a row into `vedette_batches`, beside the table: which batches of which stream are in it. A
batch that is recorded there is not written again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256

from pydantic import SecretStr
from pyspark.sql import DataFrame, SparkSession

from vedette.errors import DeliveryError
from vedette.spark.pipeline.job_descriptions import described
from vedette.spark.pipeline.sinks.base import Batch, Delivery
from vedette.spark.pipeline.sinks.database import Connection, connected, driver_of, table_parts
from vedette.spark.pipeline.sinks.rows import flat

_LEDGER = ("pipeline", "sink", "checkpoint", "batch")
# Columns whose texts are short are so in the table: many databases index no others. The rest is as long as need be.
_SHORT = {"id": "VARCHAR(32)", "kind": "VARCHAR(32)", "version": "VARCHAR(64)"}


class TableSink:
    """Writes rows into a table, which is made if it does not exist; else its columns are found by their names."""

    delivery: Delivery = "exactly once"

    def __init__(
        self,
        name: str,
        *,
        url: str,
        table: str,
        driver: str | None = None,
        user: str | None = None,
        password: SecretStr | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._parts = table_parts(table)
        self._table = table
        self._password = password
        driver = driver or driver_of(url)
        own = {"url": url, "driver": driver, "user": user}
        self._options = {**(options or {}), **{key: value for key, value in own.items() if value is not None}}

    def check(self, spark: SparkSession, *, streaming: bool) -> None:
        """Check that the database can be connected to."""
        with connected(spark, self._writer_options()):
            pass

    def write(self, notifications: DataFrame, batch: Batch) -> None:
        """Stage, then insert and record in one transaction; a batch that is recorded is skipped."""
        spark = notifications.sparkSession
        options = self._writer_options()
        with described(spark, batch.doing(f"write {self.name}")), connected(spark, options) as connection:
            ledger = self._beside(connection, "vedette_batches")
            staging = self._beside(connection, f"vedette_staging_{self._digest(batch)}")
            if batch.number is not None:
                self._make_ledger(connection, ledger)
                if self._is_recorded(connection, ledger, batch):
                    return
            rows = flat(notifications)
            rows = rows.toDF(*(connection.folded(name) for name in rows.columns))
            target = connection.table(self._table)
            if connection.columns(target) is None:
                nothing = spark.createDataFrame([], rows.schema)
                self._save(nothing, target, options, mode="ignore")
            insert = self._insertion(connection, target, staging, rows.columns)
            self._save(rows, staging, options, mode="overwrite")  # instead of what an attempt left that was cut short
            self._commit(connection, ledger, batch, insert)
            connection.execute(f"DROP TABLE {staging}")

    def _commit(self, connection: Connection, ledger: str, batch: Batch, insert: str) -> None:
        with connection.transaction():
            if batch.number is not None:
                columns = ", ".join(self._ledger_columns(connection))
                # First: if somebody writes the same batch at the same time, the key lets only one of us go on.
                connection.execute(
                    f"INSERT INTO {ledger} ({columns}) VALUES (?, ?, ?, ?, ?)",
                    *self._key(batch),
                    datetime.now(UTC).isoformat(timespec="seconds"),
                )
            connection.execute(insert)

    def _save(self, rows: DataFrame, table: str, options: Mapping[str, str], *, mode: str) -> None:
        short = ", ".join(f"`{name}` {_SHORT[name.lower()]}" for name in rows.columns if name.lower() in _SHORT)
        settings = {"createTableColumnTypes": short, **options, "dbtable": table, "truncate": "false"}
        rows.write.format("jdbc").options(**settings).mode(mode).save()

    def _insertion(self, connection: Connection, target: str, staging: str, columns: list[str]) -> str:
        present = {name.lower(): name for name in connection.columns(target) or []}
        missing = [name for name in columns if name.lower() not in present]
        if missing:
            raise DeliveryError(
                f"the table {self._table} has no column {', '.join(missing)}\n"
                "Hint: add it to the table, take it out of `keep`, or name a table that is not there: it will be made"
            )
        into = ", ".join(connection.quoted(present[name.lower()]) for name in columns)
        out_of = ", ".join(connection.quoted(name) for name in columns)
        return f"INSERT INTO {target} ({into}) SELECT {out_of} FROM {staging}"

    def _make_ledger(self, connection: Connection, ledger: str) -> None:
        if connection.columns(ledger) is not None:
            return
        *names, batch, written = self._ledger_columns(connection)
        texts = ", ".join(f"{name} VARCHAR(128) NOT NULL" for name in names)
        # Plain types that every database has: DECIMAL for a long, a text for the time.
        connection.execute(
            f"CREATE TABLE {ledger} ({texts}, {batch} DECIMAL(19) NOT NULL, {written} VARCHAR(32), "
            f"PRIMARY KEY ({', '.join([*names, batch])}))"
        )

    def _is_recorded(self, connection: Connection, ledger: str, batch: Batch) -> bool:
        *key, _ = self._ledger_columns(connection)
        condition = " AND ".join(f"{column} = ?" for column in key)
        return connection.finds(f"SELECT 1 FROM {ledger} WHERE {condition}", *self._key(batch))

    def _ledger_columns(self, connection: Connection) -> list[str]:
        return [connection.quoted(connection.folded(name)) for name in (*_LEDGER, "written")]

    def _key(self, batch: Batch) -> tuple[str, str, str, int]:
        assert batch.number is not None
        return batch.pipeline, self.name, batch.checkpoint or "-", batch.number  # some take an empty text for NULL

    def _beside(self, connection: Connection, table: str) -> str:
        """A table of our own, in the schema of the one that is written."""
        return connection.table(".".join([*self._parts[:-1], table]))

    def _digest(self, batch: Batch) -> str:
        return sha256("\0".join([batch.pipeline, batch.checkpoint, self.name, self._table]).encode()).hexdigest()[:12]

    def _writer_options(self) -> dict[str, str]:
        secret = {} if self._password is None else {"password": self._password.get_secret_value()}
        return {**self._options, **secret}
