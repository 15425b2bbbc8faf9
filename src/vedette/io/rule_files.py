"""Rules in files of their own: a folder of YAML files, or one with several documents; each becomes a subscription."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from vedette.dialects.registry import collects, translate_all
from vedette.dialects.rule_results import RuleDocument, RuleResult, RuleTranslation
from vedette.errors import DialectError, FileError, InputError
from vedette.filters.origins import Origin, facts_of
from vedette.io.byte_sources import InputSource, source_of
from vedette.io.subscription_rows import SubscriptionRecord, SubscriptionRows, Written
from vedette.io.yaml_text import yaml_records

ENDINGS = (".yml", ".yaml")
_LARGEST = 16 << 20  # bytes of one file


def rules_of(place: str | os.PathLike[str], format: str | None, now: dt.datetime, written: Written) -> RuleFiles | None:
    """The rules of a folder or of a YAML file; None if it has records that contain rules, as for any dialect."""
    assert written.dialect is not None
    if str(place) != "-" and Path(place).is_dir():
        paths = rule_paths(Path(place))
        if not paths and _has_tables(Path(place)):
            return None
        if not collects(written.dialect):
            raise InputError(
                f"{place} is a folder, and rules of {written.dialect!r} do not come as files of their own\n"
                f'Hint: write them as JSON lines: {{"id": "r1", "dialect": "{written.dialect}", "when": …}}'
            )
        if not paths:
            raise FileError(f"{place} holds no rules\nHint: a folder of rules has files *.yml or *.yaml, in any depth")
        return RuleFiles(str(place), paths, now, written)
    source = source_of(place, format, ("jsonl", "yaml", "parquet"))
    if source.format != "yaml" or not collects(written.dialect) or (source.path is not None and _are_records(source)):
        return None
    return RuleFiles(source.name, source, now, written)


def rule_paths(folder: Path) -> list[Path]:
    """The files of rules at any depth, in the order of their names; without hidden ones."""
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(place) / name for name in names if name.lower().endswith(ENDINGS) and not name.startswith(".")]
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix())


class LeftOut(NamedTuple):
    """A valid rule that cannot be matched: its id, its place, and the reason."""

    id: str
    place: str
    reason: str


class RuleFiles(SubscriptionRows):
    """The rules of files, translated together, since rules can refer to others."""

    def __init__(self, name: str, files: Sequence[Path] | InputSource, now: dt.datetime, written: Written) -> None:
        super().__init__(name, (), now, written=written)
        self.lenient = not written.strict
        self.silent = 0  # rules that only serve others
        self._files = files
        self._done = 0
        self._records = self._translated()

    @property
    def progress(self) -> float | None:
        """The part of the files that was read, from 0 to 1."""
        return None if isinstance(self._files, InputSource) else self._done / len(self._files)

    def _documents(self) -> Iterator[RuleDocument]:
        if isinstance(self._files, InputSource):
            yield RuleDocument(_text(self._files), PurePath(self.name).name)
            return
        for path in self._files:
            self._done += 1
            yield RuleDocument(_text(InputSource(path, "yaml")), path.relative_to(self.name).as_posix())

    def _translated(self) -> Iterator[SubscriptionRecord]:
        assert self.written.dialect is not None
        number = 0
        for outcome in translate_all(self.written.dialect, self._documents(), pipelines=self.written.pipelines):
            if outcome.made is None:
                self.silent += 1
                continue
            number += 1
            record = self._record(outcome, number)
            first = self._lines.setdefault(record.id, number)
            if first != number:
                taken = DialectError(f"the id {record.id!r} is taken by another rule", hint="give every one its own id")
                record = record._replace(refused=taken)
            yield record

    def _record(self, outcome: RuleResult, number: int) -> SubscriptionRecord:
        made, dialect = outcome.made, self.written.dialect
        place = outcome.place if isinstance(self._files, InputSource) else str(PurePath(self.name) / outcome.place)
        id_ = outcome.described.id or outcome.place
        if isinstance(made, RuleTranslation):
            try:
                origin = Origin(facts_of(made.origin), dialect, outcome.rule)
                return SubscriptionRecord(
                    made.id or id_, None, made.when, dialect, None, None, {}, number, origin=origin, place=place
                )
            except InputError as error:  # it says too much of itself
                made = DialectError(str(error))
        return SubscriptionRecord(id_, None, outcome.rule, dialect, None, None, {}, number, refused=made, place=place)


def _has_tables(folder: Path) -> bool:
    return any(folder.rglob("*.parquet"))


def _are_records(source: InputSource) -> bool:
    """Whether a YAML file has subscriptions, as for any dialect, and not plain rules."""
    try:
        first = next((record for _, record in yaml_records(source)), None)
    except FileError:  # the dialect reports the rule that is not YAML
        return False
    return isinstance(first, dict) and "when" in first and "id" in first


def _text(source: InputSource) -> str:
    content = b""
    for block in source.blocks():
        content += block
        if len(content) > _LARGEST:
            raise FileError(f"{source.name} is larger than {_LARGEST:,} bytes\nHint: a rule is a page of text")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise FileError(f"{source.name} is not UTF-8: {error}\nHint: write the file again") from None
