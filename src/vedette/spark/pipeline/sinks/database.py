"""A JDBC connection, made as Spark makes its own: identifiers, statements, transactions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from vedette.errors import DeliveryError, InputError

_REGULAR = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,62}")
# Drivers that come as jars of a session are not found by their address alone: Java asks only its own class path.
_DRIVERS = {
    "derby": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
    "duckdb": "org.duckdb.DuckDBDriver",
    "h2": "org.h2.Driver",
    "mariadb": "org.mariadb.jdbc.Driver",
    "mysql": "com.mysql.cj.jdbc.Driver",
    "oracle": "oracle.jdbc.OracleDriver",
    "postgresql": "org.postgresql.Driver",
    "sqlite": "org.sqlite.JDBC",
    "sqlserver": "com.microsoft.sqlserver.jdbc.SQLServerDriver",
}


def driver_of(url: str) -> str | None:
    """The Java class of the driver for the address of a database, or None."""
    kind = url.removeprefix("jdbc:").partition(":")[0].lower()
    return _DRIVERS.get(kind)


def table_parts(table: str) -> list[str]:
    """The parts of `schema.table`, each a plain name; InputError if one is not."""
    parts = table.split(".")
    if len(parts) > 3 or not all(_REGULAR.fullmatch(part) for part in parts):
        raise InputError(
            f"{table!r} is no name of a table\n"
            "Hint: use letters, digits and underscores, with the schema before a dot if need be: `alerts.notifications`"
        )
    return parts


class Connection:
    """An open connection. Every statement commits by itself, except inside `transaction`."""

    def __init__(self, connection: Any, dialect: Any) -> None:
        self._connection = connection
        self._dialect = dialect
        metadata = connection.getMetaData()
        self._upper = bool(metadata.storesUpperCaseIdentifiers())
        self._lower = bool(metadata.storesLowerCaseIdentifiers())

    def folded(self, name: str) -> str:
        """A name as the database stores it if it is written without quotes."""
        if not _REGULAR.fullmatch(name):
            return name
        return name.upper() if self._upper else name.lower() if self._lower else name

    def quoted(self, name: str) -> str:
        """A column's name in a statement, exactly as it is."""
        return str(self._dialect.quoteIdentifier(name))

    def table(self, table: str) -> str:
        """A table's name in a statement: found as if it were written without quotes, even if it is a reserved word."""
        return ".".join(self.quoted(self.folded(part)) for part in table_parts(table))

    def columns(self, table: str) -> list[str] | None:
        """The columns of a table, None if there is none of that name."""
        statement = self._connection.createStatement()
        try:
            metadata = statement.executeQuery(f"SELECT * FROM {table} WHERE 1 = 0").getMetaData()
            return [str(metadata.getColumnName(at + 1)) for at in range(metadata.getColumnCount())]
        except Py4JJavaError:
            return None  # there is no portable code for "no such table"; creating it says what is really wrong
        finally:
            statement.close()

    def execute(self, statement: str, *values: str | int) -> None:
        """Run a statement with these values for its question marks."""
        prepared = self._prepared(statement, values)
        try:
            prepared.execute()
        finally:
            prepared.close()

    def finds(self, query: str, *values: str | int) -> bool:
        """Whether a query has a first row."""
        prepared = self._prepared(query, values)
        try:
            return bool(prepared.executeQuery().next())
        finally:
            prepared.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction, as a context: rolled back if something is raised."""
        self._connection.setAutoCommit(False)
        try:
            yield
            self._connection.commit()
        except BaseException:
            self._connection.rollback()
            raise
        finally:
            self._connection.setAutoCommit(True)

    def _prepared(self, statement: str, values: tuple[str | int, ...]) -> Any:
        prepared = self._connection.prepareStatement(statement)
        for at, value in enumerate(values, start=1):
            if isinstance(value, int):
                prepared.setLong(at, value)
            else:
                prepared.setString(at, value)
        return prepared


@contextmanager
def connected(spark: SparkSession, options: Mapping[str, str]) -> Iterator[Connection]:
    """A connection with the options of Spark's JDBC writer, as a context; errors become a DeliveryError."""
    jvm: Any = spark._jvm
    url = options["url"]
    connection: Any = None
    try:
        dialect = jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(url)
        settings = jvm.org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions(
            url, options.get("dbtable", "none"), jvm.PythonUtils.toScalaMap(dict(options))
        )
        # Spark's own factory: it finds drivers among the session's jars, and logs in by Kerberos where that is set up.
        connection = dialect.createConnectionFactory(settings).apply(-1)
        yield Connection(connection, dialect)
    except Py4JJavaError as error:
        raise DeliveryError(_explained(error, options)) from error
    finally:
        if connection is not None:
            connection.close()


def _explained(error: Py4JJavaError, options: Mapping[str, str]) -> str:
    kind = str(error.java_exception.getClass().getSimpleName())
    message = str(error.java_exception.getMessage() or kind)
    if password := options.get("password"):
        message = message.replace(password, "***")
    if kind == "ClassNotFoundException" or "No suitable driver" in message:
        driver = options.get("driver", "its class")
        return (
            f"the driver of the database is not there ({driver})\n"
            'Hint: name its package or jar in [spark], e.g. packages = ["org.postgresql:postgresql:42.7.7"]'
        )
    return f"the database refused: {message}"
