"""Matches DataFrames, batch and streaming: events in, a row for every match out."""

from __future__ import annotations

import datetime as dt
import difflib
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from vedette.engine.engine import Engine
from vedette.engine.subscriptions import Subscriptions
from vedette.errors import InputError, NotSupported
from vedette.filters.matcher import Matcher
from vedette.filters.subscription_set import schema_of as given_schema
from vedette.patterns.forecasts.model import Model
from vedette.schema.schema import Schema
from vedette.spark.compiled import Given, loaded
from vedette.spark.engines import Sent
from vedette.spark.operators.carried import Handed, calling_of
from vedette.spark.snapshots import ShippedSnapshot
from vedette.spark.texts import texts_told
from vedette.spark.told import told_of
from vedette.spark.types import schema_of
from vedette.spark.versions import is_column, is_frame

_ID = "id"
_PREFIX = "vedette_"
_IN_ORDER = dt.timedelta(0)


def match(
    events: DataFrame,
    subscriptions: Given,
    *,
    keep: str | Column | Sequence[str | Column] | None = None,
    schema: Schema | Mapping[str, Any] | None = None,
    subscribers: bool = False,
    prefix: str | None = None,
    rejects: Literal["raise", "keep"] = "raise",
    id: str | Column | None = None,
    model: Model | None = None,
    operators: Handed = None,
    lateness: dt.timedelta = _IN_ORDER,
    late: Literal["drop", "keep"] = "drop",
    strict: bool = False,
) -> DataFrame:
    """Match events with subscriptions: a row for every match, with the columns of its event.

    `events` is any DataFrame, also a streaming one. `subscriptions` are Subscriptions, an Engine, the path of a file or
    a snapshot, records, or a DataFrame with `id` and `when` (and perhaps `subscriber`, `expires`). What is wrong in a
    file or a DataFrame is logged with its reason and left out, unless all of it is; where it is `strict`, that is an
    error.

    The columns of the result are those of `keep` (names and expressions, as `select` takes them; all columns of the
    events if it is not given), `subscription`, `subscriber` if `subscribers`, and `version`: which subscriptions these
    were. The names of those that come of matching begin with the `prefix`; without one, they are prefixed only if the
    events have columns of such names: "vedette_", with a warning. Only the columns that subscriptions read cross to
    Python. The matches of an event come in any order.

    `schema` says how events are read where their own types do not: `{"sent": "timestamp"}` for a column of texts (a
    Schema says everything). An event whose value breaks it is an error, or, with `rejects="keep"`, a row with no
    subscription and its `reason`.

    Where patterns over several events are among the subscriptions, events count in the order of their `time`, and those
    with the same `id` (by default the column of that name) once. After `subscription` come `kind` (match or
    prediction), `steps` (name -> id of the event), `bindings`, `probability` and `within`; forecasts come from the
    `model`, and do not learn. The events of a stream may come in any order within `lateness`; those that come even
    later do not count, and have, with `late="keep"`, a row with no subscription whose `kind` is late.

    `operators` are those that filters call: Operators, the path of a file, or a Calling, which learns from what they do
    on all workers, and counts calls and failures; without them, the installed ones. Unless they are a Calling, planning
    begins with the statistics of the `model`. Where filters call some, `bindings` comes before `version`: the values of
    variables, as texts. The columns that operators read cross, too.
    """
    if not is_frame(events):
        name = type(events).__name__
        raise InputError(f"the events are a {name}, not a DataFrame of Spark\nHint: spark.createDataFrame makes one")
    if rejects not in ("raise", "keep"):
        raise InputError(f"rejects={rejects!r} is not known\nHint: it is 'raise' or 'keep'")
    if not isinstance(prefix, str | None):
        raise InputError(f'prefix={prefix!r} is no text\nHint: a beginning of names, such as "vedette_"')
    if late not in ("drop", "keep"):
        raise InputError(f"late={late!r} is not known\nHint: it is 'drop' or 'keep'")
    if not isinstance(lateness, dt.timedelta) or lateness < _IN_ORDER:
        raise InputError(f"a lateness of {lateness!r}\nHint: a length of time from 0 on: timedelta(minutes=5)")
    wanted = Wanted(keep, subscribers, rejects == "keep", id)
    known = read_by(schema, events.schema)
    calling = calling_of(operators, None if model is None else model.operators)
    given = loaded(subscriptions, known, None if calling.installed else calling.operators, strict=strict)
    engine = given.compiled(calling, model) if isinstance(given, Subscriptions) else given
    if isinstance(engine, Matcher):
        engine = Engine(engine)
    elif model is not None:
        engine = engine.with_model(model)
    if (asking := engine.offered_to) is not None:
        raise InputError(
            f"{asking!r} subscribes to offers, and a DataFrame of events has none\n"
            "Hint: vd.spark.meet says which offers and wants meet; leave those who want offers out here"
        )
    if engine.has_state and rejects == "keep":
        raise NotSupported('rejects="keep" is for filters\nHint: set events that break the schema aside before')
    names = events.select(*_kept(events, keep)).columns
    found = matched(events, engine, wanted, subscriptions if isinstance(subscriptions, ShippedSnapshot) else None)
    if not engine.has_state:
        return _named_at_last(found, names, prefix)
    from vedette.spark.patterns import frames

    waits = lateness // dt.timedelta(microseconds=1)
    told = frames.Wanted(_kept(events, keep), subscribers, id, waits, late == "keep")
    return _named_at_last(frames.match_all(events, engine, found, told), names, prefix)


class Wanted(NamedTuple):
    """Columns that the result of filters shall have."""

    keep: str | Column | Sequence[str | Column] | None
    subscribers: bool
    rejects: bool
    id: str | Column | None


def matched(events: DataFrame, engine: Engine, wanted: Wanted, shipped: ShippedSnapshot | None = None) -> DataFrame:
    """A row for every match of filters, with and without operators; the engine may be `shipped` already.

    Kept columns go by their numbers, _0, _1, …: no event's column can have the name of one that comes of matching.
    """
    own, sent = len(events.columns), Sent.of(engine, events.sparkSession, shipped=shipped)
    wide = events.select("*", *_kept(events, wanted.keep))
    kept = wide.columns[own:]
    told = ["subscription", *(["subscriber"] if wanted.subscribers else []), *(["bindings"] if sent.binds else [])]
    added = [*told, "version", *(["reason"] if wanted.rejects else [])]
    if is_column(wanted.id):
        wide = events.select("*", *_kept(events, wanted.keep), wanted.id)

    # From here on columns go by number: their names may be there twice, or differ only in case.
    wide = wide.toDF(*(f"_{number}" for number in range(len(wide.columns))))
    carried = [F.col(f"_{own + number}") for number in range(len(kept))]
    about: dict[str, bool] = {"subscribers": wanted.subscribers, "rejects": wanted.rejects}
    if sent.binds:
        id_ = _named(events, wanted.id, own + len(kept))
        found, nowhere = told_of(wide, events.schema, engine, sent, carried, id_=id_, **about)
    else:
        found, nowhere = texts_told(wide, events.schema, engine.filters, sent, carried, **about)
    if nowhere:
        _warn_of(nowhere, events.schema)
    columns = [*carried, *(F.lit(sent.version) if name == "version" else F.col(name) for name in added)]
    names = [*(f"_{number}" for number in range(len(kept))), *added]
    return found.select(*(column.alias(name) for column, name in zip(columns, names, strict=True)))


def _named_at_last(found: DataFrame, kept: Sequence[str], prefix: str | None) -> DataFrame:
    """The columns that are kept by their own names, and those that come of matching with the prefix."""
    added = found.columns[len(kept) :]
    clash = _clash(kept, added, prefix or "")
    if clash is not None and prefix is None:
        prefix = _PREFIX
        warnings.warn(
            f"the events have a column {clash!r}, and so has what comes of matching: the columns of matching are named "
            f"{prefix}subscription and so on here\nHint: `prefix` chooses how they begin",
            stacklevel=3,
        )
        clash = _clash(kept, added, prefix)
    if clash is not None:
        raise InputError(
            f"the events have a column {clash!r}, and so has what comes of matching\n"
            "Hint: choose another `prefix` for the columns of matching, or leave that one out with keep=[…]"
        )
    return found.toDF(*kept, *(f"{prefix or ''}{name}" for name in added))


def _clash(kept: Sequence[str], added: Sequence[str], prefix: str) -> str | None:
    """A kept column that has the name of one that comes of matching; Spark does not mind upper and lower case."""
    taken = {f"{prefix}{name}".lower() for name in added}
    return next((name for name in kept if name.lower() in taken), None)


def _named(events: DataFrame, given: str | Column | None, behind: int) -> Column | None:
    """The column that names events where operators fail, if there is one; a computed one is number `behind`."""
    if given is not None and not isinstance(given, str):
        return F.col(f"_{behind}")
    name = _ID if given is None else given
    if events.columns.count(name) == 1:
        return F.col(f"_{events.columns.index(name)}")
    if given is None:
        return None
    raise InputError(f"the events have no one column {given!r}\nHint: `id` names the column that tells events apart")


def read_by(given: Schema | Mapping[str, Any] | None, stored: StructType) -> Schema:
    """The schema of the events: that of the DataFrame, with given types of some attributes, or a given schema."""
    if isinstance(given, Schema):
        return given
    own = schema_of(stored)
    if given is None:
        return own
    said = given_schema(given)
    return Schema({**own, **said}, closed=False, mixed=said.mixed)


def _kept(events: DataFrame, keep: str | Column | Sequence[str | Column] | None) -> list[str | Column]:
    """The columns to keep, as `select` takes them."""
    if keep is None:
        return ["*"]
    if isinstance(keep, str) or not isinstance(keep, Sequence):
        keep = [keep]
    names = events.columns
    chosen: list[str | Column] = []
    for each in keep:
        if not (isinstance(each, str) or is_column(each)):
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


def _warn_of(nowhere: Sequence[str], stored: StructType) -> None:
    """Warn of attributes that events do not have: no error, but most often a slip of the pen."""
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
