"""Matching DataFrames, batch and streaming: events in, a row for every match out."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BinaryType, StringType, StructType

from vedette.errors import InputError, NotSupported
from vedette.matching.matcher import Matcher
from vedette.matching.subscriptions import Subscriptions
from vedette.matching.subscriptions import schema_of as given_schema
from vedette.prediction.model import Model
from vedette.schema.schema import Schema
from vedette.spark.columns import sent_columns
from vedette.spark.compiled import Given, loaded
from vedette.spark.snapshots import Shipped, ship
from vedette.spark.types import schema_of
from vedette.spark.worker import BETWEEN, ESCAPES, REJECTED, SEPARATOR, Task, label_width, matching, needs_escapes

_LABEL, _PLACE, _TEXT = "label", "place", "text"


def match(
    events: DataFrame,
    subscriptions: Given,
    *,
    keep: str | Column | Sequence[str | Column] | None = None,
    schema: Schema | Mapping[str, Any] | None = None,
    subscribers: bool = False,
    rejects: Literal["raise", "keep"] = "raise",
    id: str | Column | None = None,
    model: Model | None = None,
) -> DataFrame:
    """Who should hear of what: a row for every match, with the columns of its event.

    `events` is any DataFrame, also a streaming one. `subscriptions` are Subscriptions, a Matcher, the path of a file
    or a snapshot, records, or a DataFrame with `id` and `when` (and perhaps `subscriber`, `expires`).

    The columns of the result are those of `keep` (names and expressions, as `select` takes them; all columns of the
    events if it is not given), `subscription`, `subscriber` if `subscribers`, and `version`: which subscriptions these
    were. Only what the subscriptions speak of crosses to Python. The matches of an event come in any order.

    `schema` says how events are read where their own types do not: `{"sent": "timestamp"}` for a column of texts (a
    Schema says everything). An event whose value breaks it is an error, or, with `rejects="keep"`, a row with no
    subscription and its `reason`.

    Where patterns over several events are among the subscriptions, the events are a table, no stream. They count in the
    order of their `time`, and those with the same `id` (by default the column of that name) once. Behind `subscription`
    stand `kind` (match or prediction), `steps` (name -> id of the event), `bindings`, `probability` and `within`;
    forecasts come from the `model`, and do not learn.
    """
    if not isinstance(events, DataFrame):
        name = type(events).__name__
        raise InputError(f"the events are a {name}, not a DataFrame of Spark\nHint: spark.createDataFrame makes one")
    if rejects not in ("raise", "keep"):
        raise InputError(f"rejects={rejects!r} is not known\nHint: it is 'raise' or 'keep'")
    known = _read_by(schema, events.schema)
    given = loaded(subscriptions, known)
    if isinstance(given, Subscriptions) and given.patterns:
        from vedette.spark.patterns.together import Wanted, match_all

        if rejects == "keep":
            raise NotSupported('rejects="keep" is for filters\nHint: set events that break the schema aside before')
        filters = match(events, given.compile(filters_only=True), keep=keep, schema=schema, subscribers=subscribers)
        return match_all(events, given, filters, Wanted(_kept(events, keep), subscribers, id, model))
    matcher = given.compile() if isinstance(given, Subscriptions) else given
    shipped = subscriptions if isinstance(subscriptions, Shipped) else ship(matcher, events.sparkSession)

    own = len(events.columns)
    wide = events.select("*", *_kept(events, keep))
    kept = wide.columns[own:]
    added = ["subscription", *(["subscriber"] if subscribers else []), "version"]
    added += ["reason"] if rejects == "keep" else []
    _check_names(kept, added)

    # From here on columns go by number: their names may be there twice, or differ only in case.
    wide = wide.toDF(*(f"_{number}" for number in range(len(wide.columns))))
    carried = [F.col(f"_{own + number}") for number in range(len(kept))]
    escaped = needs_escapes(matcher)
    width = None if escaped else label_width(matcher, subscribers)
    text = _texts(events, matcher, Task(shipped, (), subscribers, escaped, width))
    named = wide.select(*carried, text.alias(_TEXT))
    if rejects == "raise":
        said = F.col(_TEXT).cast("string")
        named = named.where(F.when(said.startswith(REJECTED), _broken(said)).otherwise(F.lit(True)))
    matches = _labelled(named, carried, width, rejects == "keep")
    columns = [*carried, *_read(F.col(_LABEL), subscribers, escaped, rejects == "keep")]
    columns.insert(len(carried) + 1 + subscribers, F.lit(shipped.version))
    return matches.select(*(column.alias(name) for column, name in zip(columns, [*kept, *added], strict=True)))


def _read_by(given: Schema | Mapping[str, Any] | None, stored: StructType) -> Schema:
    """The schema of the events: their own, what was said of some attributes instead, or one that says everything."""
    if isinstance(given, Schema):
        return given
    own = schema_of(stored)
    if given is None:
        return own
    said = given_schema(given)
    return Schema({**own, **said}, closed=False, mixed=said.mixed)


def _kept(events: DataFrame, keep: str | Column | Sequence[str | Column] | None) -> list[str | Column]:
    """What `select` takes for the columns to keep."""
    if keep is None:
        return ["*"]
    if isinstance(keep, str | Column):
        keep = [keep]
    names = events.columns
    chosen: list[str | Column] = []
    for each in keep:
        if not isinstance(each, str | Column):
            raise InputError(f"keep has {each!r} in it\nHint: hand in names of columns, and expressions of Spark")
        if isinstance(each, str) and names.count(each) > 1:
            raise InputError(
                f"the events have {names.count(each)} columns named {each!r}\nHint: rename all but one, or keep none"
            )
        exact = isinstance(each, str) and each in names
        chosen.append(_quoted(each) if exact else each)  # type: ignore[arg-type]
    return chosen


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _check_names(kept: Sequence[str], added: Sequence[str]) -> None:
    clash = [name for name in kept if name.lower() in added]
    if clash:
        raise InputError(
            f"the events have a column {clash[0]!r}, and so has what comes of matching\n"
            f"Hint: rename it before, events.withColumnRenamed({clash[0]!r}, …), or leave it out with keep=[…]"
        )


def _texts(events: DataFrame, matcher: Matcher, task: Task) -> Column:
    """The text of every event's matches, made in Python of what the subscriptions speak of."""
    columns = matcher.segment.codebook.columns
    stored = events.schema
    sent, nowhere = sent_columns(columns, matcher.schema, stored, lambda number: F.col(f"_{number}"))
    if nowhere:
        _warn_of(nowhere, stored)
    names = tuple(each.name for each in sent) or ("",)
    arguments = [each.column for each in sent] or [F.lit(True)]  # Python has to know how many events there are
    function = matching(replace(task, names=names))
    kind = StringType() if task.width is None else BinaryType()
    # Else Spark may match twice, once to see whether there is anything.
    made: Callable[..., Column] = arrow_udf(function, kind).asNondeterministic()  # type: ignore[call-overload]
    return made(*arguments)


def _warn_of(nowhere: Sequence[str], stored: StructType) -> None:
    """Nothing is wrong with subscriptions that speak of other events too; most often it is a slip of the pen."""
    known = list(schema_of(stored))
    shown = []
    for path in sorted(nowhere)[:3]:
        near = difflib.get_close_matches(path.lower(), [each.lower() for each in known], 1)
        meant = next((each for each in known if near and each.lower() == near[0]), None)
        shown.append(repr(path) if meant is None else f"{path!r} (there is {meant!r})")
    more = f" and {len(nowhere) - 3:,} more" if len(nowhere) > 3 else ""
    warnings.warn(
        f"the events have no {', no '.join(shown)}{more}, of which subscriptions speak: there it is null everywhere",
        stacklevel=4,
    )


def _broken(text: Column) -> Column:
    hint = 'Hint: rejects="keep" gives such events as rows with a reason'
    return F.raise_error(
        F.concat(F.lit("an event breaks the schema: "), F.substring(text, 2, 10_000), F.lit(f"\n{hint}"))
    )


def _labelled(named: DataFrame, carried: Sequence[Column], width: int | None, rejects: bool) -> DataFrame:
    """A row for every label of a text; a text that rejects is one label."""
    text = F.col(_TEXT)
    if width is None:
        return named.select(*carried, F.explode(F.split(text, SEPARATOR)).alias(_LABEL))
    # Bytes are cut off by counting. To split a text, Spark decodes it, and encodes every label anew.
    size = F.lit(width)
    if rejects:
        size = F.when(text.cast("string").startswith(REJECTED), F.length(text)).otherwise(size)
    placed = named.select(*carried, text, F.explode(F.sequence(F.lit(1), F.length(text), size)).alias(_PLACE))
    label = F.substring(text, F.col(_PLACE), size).cast("string")
    return placed.select(*carried, F.rtrim(label).alias(_LABEL))


def _read(label: Column, subscribers: bool, escaped: bool, rejects: bool) -> list[Column]:
    """Subscription, subscriber and reason, those that are wanted, from a label."""

    def plain(part: Column) -> Column:
        if escaped:
            for character in reversed(ESCAPES):
                part = F.replace(part, F.lit(ESCAPES[character]), F.lit(character))
        return F.when(~label.startswith(REJECTED), part) if rejects else part

    found = [plain(F.substring_index(label, BETWEEN, 1) if subscribers else label)]
    if subscribers:
        found.append(plain(F.when(F.contains(label, F.lit(BETWEEN)), F.substring_index(label, BETWEEN, -1))))
    if rejects:
        found.append(F.when(label.startswith(REJECTED), F.substring(label, 2, 10_000)))
    return found
