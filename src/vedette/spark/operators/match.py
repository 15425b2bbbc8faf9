"""Filters that call operators, and plain ones beside them, over a DataFrame: what crosses, and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import StructType

from vedette.matching.matcher import Matcher
from vedette.matching.subscriptions import Subscriptions
from vedette.operators.calling import Calling
from vedette.operators.matcher import OperatorMatcher
from vedette.operators.operator import operator
from vedette.operators.registry import Operators
from vedette.schema.columns import Column as Read
from vedette.spark.operators.attributes import sent_for
from vedette.spark.operators.reports import caller
from vedette.spark.operators.tasks import FOUND, RETURNED, TEXT, Filters, Task, calling, filters_of
from vedette.spark.snapshots import Shipped, ship
from vedette.spark.worker import ESCAPES, SEPARATOR, needs_escapes


@dataclass(frozen=True, slots=True)
class Ready:
    """A set some of whose filters call operators, made ready on the driver."""

    plain: Matcher
    filters: Filters
    calling: Calling
    matcher: OperatorMatcher  # of those that call operators: what they look at

    @property
    def version(self) -> str:
        """The same for the same subscriptions."""
        return self.filters.version

    @property
    def columns(self) -> tuple[Read, ...]:
        """What the index reads of events."""
        return tuple(dict.fromkeys((*self.plain.segment.codebook.columns, *self.matcher.columns)))

    @property
    def escaped(self) -> bool:
        """Some id or subscriber has one of the characters that mean something in labels."""
        texts = "".join(f"{each.id}{each.subscriber or ''}" for each in self.filters.records)
        return needs_escapes(self.plain) or any(character in texts for character in ESCAPES)


def ready(subscriptions: Subscriptions, given: Calling) -> Ready:
    """The filters of a set, patterns left out; FilterError if a call makes no sense."""
    plain = subscriptions.compile(filters_only=True)
    filters = filters_of(tuple(subscriptions.with_operators.values()), subscriptions.schema, plain.version)
    return Ready(plain, filters, given, filters.matcher(given))


def found(
    events: DataFrame, stored: StructType, made: Ready, *, subscribers: bool, id_: Column | None
) -> tuple[Column, list[str]]:
    """What is found of every event, as FOUND of `labelled`; and the attributes that lead nowhere.

    The columns of `events` go by their numbers, _0, _1, …; the first of them are those of `stored`.
    """
    sent, nowhere = sent_for(
        [made.matcher], made.columns, made.filters.schema, stored, lambda number: F.col(f"_{number}")
    )
    task = Task(
        shipped(made, events.sparkSession),
        made.filters,
        caller(made.calling, events.sparkSession),
        made.columns,
        tuple(each.name for each in sent),
        id_ is not None or not sent,
        subscribers,
        made.escaped,
    )
    arguments = [each.column for each in sent]
    if task.named:  # Python has to know how many events there are, at least
        arguments.append((F.lit(None) if id_ is None else id_).cast("string"))
    # Else Spark may call operators twice, once to see whether there is anything.
    function: Callable[..., Column] = arrow_udf(calling(task), RETURNED).asNondeterministic()  # type: ignore[call-overload]
    return function(*arguments), nowhere


def shipped(made: Ready, spark: SparkSession) -> Shipped:
    """The plain filters on their way, and the kernels compiled once, before all workers need them."""
    warm_up()
    return ship(made.plain, spark)


def labelled(found: Column) -> Column:
    """An array of structs (label, bindings) for all that was found of an event, or its reject as a label."""
    none = F.lit(None).cast("map<string, string>").alias("bindings")
    plain = F.transform(F.split(found[TEXT], SEPARATOR), lambda label: F.struct(label.alias("label"), none))
    nothing = F.array().cast("array<struct<label: string, bindings: map<string, string>>>")
    return F.concat(F.coalesce(plain, nothing), F.coalesce(found[FOUND], nothing))


_warm: list[bool] = []


def warm_up() -> None:
    """Plan and call once: where the machine code is on disk already, this takes the time of reading it."""
    if _warm:
        return
    own = Subscriptions({"n": "int"})
    own.add("1", "n > 0 and vedetteWarm(?x) and ?x > 0")
    own.add("2", "n > 0 and (vedetteWarm(1) or vedetteWarm(2))")
    one = operator("vedetteWarm", outputs=1, reads=("n",), time_limit=None)(lambda event: [1])
    with OperatorMatcher(own, Operators(one)) as matcher:
        matcher.match_batch([{"n": 1}, {"n": 2}])
    _warm.append(True)
