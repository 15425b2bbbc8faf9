"""`vedette translate`: translate rules of other dialects into Vedette's own language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from vedette.cli.file_paths import refuse_clashes
from vedette.cli.subscription_loading import report_left_out
from vedette.cli.terminal import Terminal, counted
from vedette.errors import FilterError, NotSupported
from vedette.io.output import written as writing
from vedette.io.subscription_problems import BadSubscriptions, SubscriptionProblem, refusal
from vedette.io.subscription_rows import SubscriptionRecord, SubscriptionRows, Written
from vedette.io.subscriptions import read_subscriptions
from vedette.language.parser import parse

_STRIDE = 64  # records between two looks at the progress


def translate(source: str, *, out: str, format: str | None, written: Written, text: bool, quiet: bool) -> None:
    """Write every rule, or, if any is invalid, the problems of all."""
    refuse_clashes({"SUBSCRIPTIONS": source}, {"--output": out})
    terminal = Terminal(quiet=quiet)
    file = read_subscriptions(source, format=format, written=written)
    records = _records(file, terminal)
    said = _for_people(records) if text else "".join(orjson.dumps(_record(one)).decode() + "\n" for one in records)
    with writing(out) as stream:
        stream.write(said.encode())
    report_left_out(file, terminal)
    if file.expired:
        have = counted(file.expired, "subscription has", "subscriptions have")
        terminal.note(f"{have} expired and {'is' if file.expired == 1 else 'are'} left out")
    if out != "-":
        terminal.note(f"{counted(len(records), 'subscription')}: {out} is written")


def _records(file: SubscriptionRows, terminal: Terminal) -> list[SubscriptionRecord]:
    """Records that can be read back; BadSubscriptions for invalid rules."""
    good: list[SubscriptionRecord] = []
    problems: list[SubscriptionProblem] = []
    with terminal.working("translating", "rules") as bar:
        for number, record in enumerate(file, 1):
            try:
                refused = refusal(record, patterns=True)
                if refused is not None:
                    raise refused
                parse(record.when)
                good.append(record)
            except (FilterError, NotSupported) as error:
                if not file.leaves_out(record, error):
                    problems.append(SubscriptionProblem.of_error(record, error))
            if number % _STRIDE == 0:
                bar.show(file.progress, number)
    problems += map(SubscriptionProblem.of_reject, file.rejects)
    if problems:
        raise BadSubscriptions(file.name, problems, "nothing was written")
    return good


def _record(record: SubscriptionRecord) -> dict[str, Any]:
    """A record as in a file of subscriptions."""
    said: dict[str, Any] = {
        "id": record.id,
        "subscriber": record.subscriber,
        "when": record.when,
        "origin": None if record.origin is None else record.origin.told or None,
        "expires": None if record.expires is None else record.expires.isoformat(),
        "predict": record.predict,
    }
    return {name: value for name, value in said.items() if value is not None}


def _for_people(records: list[SubscriptionRecord]) -> str:
    return "\n\n".join("\n".join(_lines(record)) for record in records) + ("\n" if records else "")


def _lines(record: SubscriptionRecord) -> Iterator[str]:
    told = "" if record.origin is None else str(record.origin)
    yield f"-- {record.id}: {told}" if told else f"-- {record.id}"
    yield record.when
