"""Subscriptions as files, tables and folders of rules give them: records that are checked, bad ones kept aside."""

from __future__ import annotations

import datetime as dt
import difflib
import functools
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import orjson

from vedette.dialects.registry import OWN
from vedette.dialects.rule_results import Rule
from vedette.errors import FilterError, InputError, LimitError, NotSupported
from vedette.filters.origins import DESCRIBING, Origin, described, facts_of, json_of, text_and_origin
from vedette.filters.subscription_records import Predict
from vedette.schema.keys import read
from vedette.schema.types import Kind

KEYS = ("id", "subscriber", "when", "dialect", "origin", "expires", "predict")
_KNOWN = frozenset(KEYS)
_INSTEAD_OF_WHEN = ("filter", "where", "condition", "pattern", "query", "predicate")
_MEANT = {"prediction": "predict", "predictions": "predict"}  # what is meant without being spelt nearly so
_NO_EXTRA: Mapping[str, Any] = {}
SourceLine: TypeAlias = tuple[int, Any, bytes | None]  # line, what stands there, its text if it is known
SubscriptionRefusal: TypeAlias = FilterError | NotSupported


class RecordRole(NamedTuple):
    """What the records of a file are, and which key says whose."""

    name: str
    owner: str
    keys: frozenset[str]


SUBSCRIPTION = RecordRole("subscription", "subscriber", _KNOWN)
PUBLICATION = RecordRole("publication", "publisher", _KNOWN - {"subscriber", "predict", "origin"} | {"publisher"})


class Written(NamedTuple):
    """How the rules of a place are written, where they do not say it themselves."""

    dialect: str | None = None
    pipelines: tuple[str, ...] = ()  # of pySigma, by which rules of Sigma are translated
    strict: bool = False  # files of rules: those that cannot be translated are errors, too, instead of left out


PLAINLY = Written()


class SubscriptionRecord(NamedTuple):
    """One subscription as it stands in a file; what the file says beyond the known keys is in `extra`."""

    id: str
    subscriber: str | None  # of a publication its publisher
    when: str  # a filter or pattern, in Vedette's language; of a rule that was refused as it is written
    dialect: str | None
    expires: dt.datetime | None
    predict: Mapping[str, Any] | None
    extra: Mapping[str, Any]
    line: int  # counted from 1; in Parquet the number of the row, from 1; in a folder that of the rule
    origin: Origin | None = None  # what is told of it, and of another dialect's rule what it was
    refused: SubscriptionRefusal | None = None  # why a rule of another dialect could not be translated
    place: str | None = None  # for people, where it stands in a file of its own


@dataclass(frozen=True, slots=True)
class RejectedSubscription:
    """A record that is no subscription: where it is, why, how to mend it, and its text."""

    line: int
    reason: str
    raw: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


class SubscriptionRows(Iterator[SubscriptionRecord]):
    """The good ones of what stands in a file or a table, once, from start to end; the others are kept on the way."""

    lenient = False  # what cannot be translated is left out, and is no error

    def __init__(
        self,
        name: str,
        placed: Iterable[SourceLine],
        now: dt.datetime,
        role: RecordRole = SUBSCRIPTION,
        written: Written = PLAINLY,
    ) -> None:
        self.name = name  # how messages call the place
        self.role = role
        self.written = written
        self.rejects: list[RejectedSubscription] = []
        self.cut_off: int | None = None  # the line within which a file of JSON lines ends
        self.expired = 0
        self.due: dt.datetime | None = None  # when the next of them expires
        self.left_out: list[tuple[SubscriptionRecord, SubscriptionRefusal]] = []  # where it is lenient
        self._placed = placed
        self._now = now if now.tzinfo is not None else now.replace(tzinfo=dt.UTC)
        self._lines: dict[str, int] = {}  # where an id was seen first
        self._records = self._read()

    @property
    def progress(self) -> float | None:
        """How much has been read, from 0 to 1; None if that cannot be told."""
        return None

    def leaves_out(self, record: SubscriptionRecord, error: SubscriptionRefusal) -> bool:
        """Whether one that cannot be matched is no error here: a rule that is right, and says more than can be said."""
        if not self.lenient or not isinstance(error, NotSupported | LimitError):
            return False
        self.left_out.append((record, error))
        return True

    def __next__(self) -> SubscriptionRecord:
        return next(self._records)

    def _read(self) -> Iterator[SubscriptionRecord]:
        lines, now, role, owner = self._lines, self._now, self.role, self.role.owner
        plainly = self.written.dialect is None
        for line, record, raw in self._placed:
            # Nearly all records are of this kind, and there may be millions of them.
            if plainly and type(record) is dict:
                id_, when, subscriber = record.get("id"), record.get("when"), record.get(owner)
                if (
                    type(id_) is str
                    and type(when) is str
                    and (type(subscriber) is str or (owner not in record))
                    and len(record) == 2 + (subscriber is not None)
                    and id_ not in lines
                    and id_.strip()
                    and when.strip()
                ):
                    lines[id_] = line
                    yield SubscriptionRecord(id_, subscriber, when, None, None, None, _NO_EXTRA, line)
                    continue
            try:
                found = _checked(record, line, role, self.written)
                if found.id in lines:
                    raise _BadRecord(
                        f"the id {found.id!r} is taken by line {lines[found.id]}", "give every one its own id"
                    )
            except _BadRecord as bad:
                text = _shown(record) if raw is None else raw.decode("utf-8", "replace").rstrip("\r")
                self.rejects.append(RejectedSubscription(line, str(bad), text))
                continue
            lines[found.id] = line
            if found.expires is not None and found.expires <= now:
                self.expired += 1
                continue
            if found.expires is not None and (self.due is None or found.expires < self.due):
                self.due = found.expires
            yield found


class _BadRecord(Exception):
    """What is wrong with a record, and how to mend it."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(f"{reason}\nHint: {hint}")

    @classmethod
    def of(cls, error: InputError) -> _BadRecord:
        """The same as an error that says both."""
        reason, _, hint = str(error).partition("\nHint: ")
        return cls(reason, hint)


_EXAMPLE = """{"id": "s1", "when": "price < 120"}"""


def _checked(record: Any, line: int, role: RecordRole, written: Written) -> SubscriptionRecord:
    if not isinstance(record, dict):
        raise _BadRecord(f"a {role.name} is an object", f"write e.g. {_EXAMPLE}")
    dialect = record.get("dialect")
    if dialect is None:
        dialect = written.dialect
    elif not isinstance(dialect, str) or not dialect:
        raise _BadRecord(f"`dialect` is {_shown(dialect)}, not a name", "leave it out for Vedette's own language")
    keys = role.keys if dialect in (None, OWN) else role.keys.union(DESCRIBING)
    extra = {str(name): value for name, value in record.items() if name not in keys}
    for name in extra:
        meant = meant_by(name, role.keys.difference(record))
        if meant is not None:
            raise _BadRecord(f"`{name}` is no part of a {role.name}", f"did you mean `{meant}`?")
    expires = record.get("expires")
    if expires is not None:
        try:
            expires = read(Kind.TIMESTAMP, expires)
        except ValueError as error:
            raise _BadRecord(f"`expires`: {error}", "write the time in ISO 8601, or leave it out") from None
    id_, when = _id(record), _when(record, dialect)
    text, origin, refused = _translated(when, dialect, record, written)
    return SubscriptionRecord(
        id_,
        _owner(record, role.owner),
        text,
        dialect,
        expires,
        _predict(record) if "predict" in role.keys else None,
        extra or _NO_EXTRA,
        line,
        origin,
        refused,
    )


def _translated(
    when: Rule, dialect: str | None, record: Mapping[str, Any], written: Written
) -> tuple[str, Origin | None, SubscriptionRefusal | None]:
    """A rule in Vedette's language, and what it was; or as it is written, with the reason why it cannot be said."""
    told = described(record, dialect)
    if isinstance(when, str) and dialect is None and told is None:
        return when, None, None
    try:
        facts_of(told)
        text, origin = text_and_origin(when, dialect, told, written.pipelines if dialect == written.dialect else ())
    except (FilterError, NotSupported) as error:
        return when if isinstance(when, str) else json_of(when), None, error
    except InputError as error:
        raise _BadRecord.of(error) from None
    return text, origin, None


@functools.lru_cache(maxsize=1024)  # the records of a file have the same keys, and there may be millions of them
def meant_by(name: str, keys: frozenset[str] = _KNOWN) -> str | None:
    """The key of a subscription that a name is most probably a misspelling of."""
    if name in _INSTEAD_OF_WHEN:
        return None
    word = _MEANT.get(name.casefold(), name.casefold())
    return next(iter(difflib.get_close_matches(word, sorted(keys), n=1, cutoff=0.75)), None)


def _id(record: dict[Any, Any]) -> str:
    id_ = record.get("id")
    if id_ is None:
        raise _BadRecord("there is no `id`", f"give it one, as in {_EXAMPLE}")
    if type(id_) is int:
        return str(id_)
    if not isinstance(id_, str):
        raise _BadRecord(f"`id` is {_shown(id_)}, not a text", "put it in quotes")
    if not id_.strip():
        raise _BadRecord("`id` is empty", "give it a name of its own")
    return id_


def _owner(record: dict[Any, Any], key: str) -> str | None:
    owner = record.get(key)
    if owner is None or isinstance(owner, str):
        return owner
    if type(owner) is int:
        return str(owner)
    raise _BadRecord(f"`{key}` is {_shown(owner)}, not a text", "put it in quotes")


def _when(record: dict[Any, Any], dialect: str | None) -> Rule:
    when = record.get("when")
    if when is None:
        near = next((name for name in _INSTEAD_OF_WHEN if name in record), None)
        raise _BadRecord("there is no `when`", f"rename `{near}` to `when`" if near else f"say when, as in {_EXAMPLE}")
    if isinstance(when, dict):
        if dialect in (None, OWN):
            raise _BadRecord(
                "`when` is an object, not a text", 'an object needs a dialect, e.g. "dialect": "eventbridge"'
            )
        try:
            json_of(when)
        except TypeError as error:
            raise _BadRecord(f"`when` is no JSON object: {error}", "write plain JSON, not so deeply nested") from None
        return when
    if not isinstance(when, str):
        raise _BadRecord(f"`when` is {_shown(when)}, not a text", "put the filter in quotes")
    if not when.strip():
        raise _BadRecord("`when` is empty", "write `true` for every event")
    return when


def _predict(record: dict[Any, Any]) -> Mapping[str, Any] | None:
    predict = record.get("predict")
    if predict is None:
        return None
    try:
        Predict.of(predict)
    except InputError as error:
        raise _BadRecord.of(error) from None
    return dict(predict)


def _shown(value: Any) -> str:
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # nested too deeply
        return reprlib.repr(value)
