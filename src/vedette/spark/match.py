"""Matching DataFrames, batch and streaming: events in, a row for every match out."""

from __future__ import annotations

import datetime as dt
import difflib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BinaryType, StringType, StructType

from vedette.errors import InputError, NotSupported
from vedette.files.operator_calls import patterns_call
from vedette.matching.matcher import Matcher
from vedette.matching.subscriptions import schema_of as given_schema
from vedette.prediction.model import Model
from vedette.schema.schema import Schema
from vedette.spark.columns import sent_columns
from vedette.spark.compiled import Given, loaded
from vedette.spark.operators.carried import Handed, calling_of
from vedette.spark.operators.match import Ready, found, labelled, ready
from vedette.spark.operators.tasks import TEXT as OF_PLAIN
from vedette.spark.snapshots import Shipped, ship
from vedette.spark.types import schema_of
from vedette.spark.worker import BETWEEN, ESCAPES, REJECTED, SEPARATOR, Task, label_width, matching, needs_escapes

_LABEL, _PLACE, _TEXT, _FOUND, _BINDINGS = "label", "place", "text", "found", "bindings"
_ID = "id"
_IN_ORDER = dt.timedelta(0)


def match(
    events: DataFrame,
    subscriptions: Given | Ready,
    *,
    keep: str | Column | Sequence[str | Column] | None = None,
    schema: Schema | Mapping[str, Any] | None = None,
    subscribers: bool = False,
    rejects: Literal["raise", "keep"] = "raise",
    id: str | Column | None = None,
    model: Model | None = None,
    operators: Handed = None,
    lateness: dt.timedelta = _IN_ORDER,
    late: Literal["drop", "keep"] = "drop",
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

    Where patterns over several events are among the subscriptions, events count in the order of their `time`, and those
    with the same `id` (by default the column of that name) once. Behind `subscription` stand `kind` (match or
    prediction), `steps` (name -> id of the event), `bindings`, `probability` and `within`; forecasts come from the
    `model`, and do not learn. The events of a stream may come in any order within `lateness`; those that come even
    later do not count, and have, with `late="keep"`, a row with no subscription whose `kind` is late.

    `operators` are those that filters call: Operators, the path of a file, or a Calling, which learns from what they do
    on all workers, and counts calls and failures; without them, the installed ones. Unless they are a Calling, planning
    begins with what the `model` knows of them. Where filters call some, `bindings` stands before `version`: the values
    of variables, as texts. What operators look at crosses, too.
    """
    if not isinstance(events, DataFrame):
        name = type(events).__name__
        raise InputError(f"the events are a {name}, not a DataFrame of Spark\nHint: spark.createDataFrame makes one")
    if rejects not in ("raise", "keep"):
        raise InputError(f"rejects={rejects!r} is not known\nHint: it is 'raise' or 'keep'")
    if late not in ("drop", "keep"):
        raise InputError(f"late={late!r} is not known\nHint: it is 'drop' or 'keep'")
    if not isinstance(lateness, dt.timedelta) or lateness < _IN_ORDER:
        raise InputError(f"a lateness of {lateness!r}\nHint: a length of time from 0 on: timedelta(minutes=5)")
    wanted = _Wanted(keep, subscribers, rejects == "keep", id)
    if isinstance(subscriptions, Ready):
        return _matched(events, subscriptions, None, wanted)
    known = read_by(schema, events.schema)
    calling = calling_of(operators, None if model is None else model.operators)
    given = loaded(subscriptions, known, None if calling.installed else calling.operators)
    if isinstance(given, Matcher):
        return _matched(events, given, subscriptions if isinstance(subscriptions, Shipped) else None, wanted)
    filters = ready(given, calling) if given.with_operators else given.compile(filters_only=True)
    if given.patterns:
        from vedette.spark.patterns.together import Wanted, match_all

        if rejects == "keep":
            raise NotSupported('rejects="keep" is for filters\nHint: set events that break the schema aside before')
        of_filters = _matched(events, filters, None, wanted)
        waits = lateness // dt.timedelta(microseconds=1)
        asked = calling if patterns_call(given.patterns.values(), given.schema) else None
        told = Wanted(_kept(events, keep), subscribers, id, model, waits, late == "keep", asked)
        return match_all(events, given, of_filters, told)
    return _matched(events, filters, None, wanted)


class _Wanted(NamedTuple):
    """What is to be told of filters."""

    keep: str | Column | Sequence[str | Column] | None
    subscribers: bool
    rejects: bool
    id: str | Column | None


def _matched(events: DataFrame, filters: Matcher | Ready, shipped: Shipped | None, wanted: _Wanted) -> DataFrame:
    """A row for every match of filters, which may call operators."""
    calls = isinstance(filters, Ready)
    own = len(events.columns)
    wide = events.select("*", *_kept(events, wanted.keep))
    kept = wide.columns[own:]
    added = ["subscription", *(["subscriber"] if wanted.subscribers else [])]
    added += [*([_BINDINGS] if calls else []), "version", *(["reason"] if wanted.rejects else [])]
    _check_names(kept, added)
    if isinstance(wanted.id, Column):
        wide = events.select("*", *_kept(events, wanted.keep), wanted.id)

    # From here on columns go by number: their names may be there twice, or differ only in case.
    wide = wide.toDF(*(f"_{number}" for number in range(len(wide.columns))))
    carried = [F.col(f"_{own + number}") for number in range(len(kept))]
    if isinstance(filters, Ready):
        escaped, version = filters.escaped, filters.version
        id_ = _named(events, wanted.id, own + len(kept))
        column, nowhere = found(wide, events.schema, filters, subscribers=wanted.subscribers, id_=id_)
        matches = _exploded(wide.select(*carried, column.alias(_FOUND)), carried, wanted.rejects)
    else:
        shipped = shipped or ship(filters, events.sparkSession)
        escaped, version = needs_escapes(filters), shipped.version
        width = None if escaped else label_width(filters, wanted.subscribers)
        text, nowhere = _texts(events, filters, Task(shipped, (), wanted.subscribers, escaped, width))
        texts = wide.select(*carried, text.alias(_TEXT))
        matches = _labelled(_checked(texts, F.col(_TEXT), wanted.rejects), carried, width, wanted.rejects)
    if nowhere:
        _warn_of(nowhere, events.schema)
    columns = [*carried, *_read(F.col(_LABEL), wanted.subscribers, escaped, wanted.rejects)]
    beside = [*([F.col(_BINDINGS)] if calls else []), F.lit(version)]
    at = len(carried) + 1 + wanted.subscribers
    columns = [*columns[:at], *beside, *columns[at:]]
    return matches.select(*(column.alias(name) for column, name in zip(columns, [*kept, *added], strict=True)))


def _checked(texts: DataFrame, text: Column, rejects: bool) -> DataFrame:
    """An event that breaks the schema ends the job, unless it is to be told."""
    if rejects:
        return texts
    said = text.cast("string")
    return texts.where(F.when(said.startswith(REJECTED), _broken(said)).otherwise(F.lit(True)))


def _exploded(texts: DataFrame, carried: Sequence[Column], rejects: bool) -> DataFrame:
    """A row for every label, with the bindings of its match."""
    checked = _checked(texts, F.col(_FOUND)[OF_PLAIN], rejects)
    one = checked.select(*carried, F.explode(labelled(F.col(_FOUND))).alias(_FOUND))
    return one.select(*carried, F.col(_FOUND)["label"].alias(_LABEL), F.col(_FOUND)["bindings"].alias(_BINDINGS))


def _named(events: DataFrame, given: str | Column | None, behind: int) -> Column | None:
    """What events are called where operators fail, if they are; a column that was made for it stands `behind`."""
    if isinstance(given, Column):
        return F.col(f"_{behind}")
    name = _ID if given is None else given
    if events.columns.count(name) == 1:
        return F.col(f"_{events.columns.index(name)}")
    if given is None:
        return None
    raise InputError(f"the events have no one column {given!r}\nHint: `id` names the column that tells events apart")


def read_by(given: Schema | Mapping[str, Any] | None, stored: StructType) -> Schema:
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


def _texts(events: DataFrame, matcher: Matcher, task: Task) -> tuple[Column, list[str]]:
    """The text of every event's matches, made in Python of what the subscriptions speak of; and what leads nowhere."""
    columns = matcher.segment.codebook.columns
    stored = events.schema
    sent, nowhere = sent_columns(columns, matcher.schema, stored, lambda number: F.col(f"_{number}"))
    names = tuple(each.name for each in sent) or ("",)
    arguments = [each.column for each in sent] or [F.lit(True)]  # Python has to know how many events there are
    function = matching(replace(task, names=names))
    kind = StringType() if task.width is None else BinaryType()
    # Else Spark may match twice, once to see whether there is anything.
    made: Callable[..., Column] = arrow_udf(function, kind).asNondeterministic()  # type: ignore[call-overload]
    return made(*arguments), nowhere


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
