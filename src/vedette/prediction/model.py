"""What was learnt of patterns and operators, kept in one file; and how patterns are learnt from history."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.composite.outputs import Observations
from vedette.composite.packing import packed, unpacked
from vedette.composite.splitting import part_number
from vedette.errors import FileError, SnapshotError
from vedette.operators.statistics import Statistics
from vedette.prediction import named
from vedette.prediction.context import Settings
from vedette.prediction.counts import Counts
from vedette.prediction.parts import rows_of_parts
from vedette.prediction.tracks import Tracks
from vedette.prediction.watched import Records, Watched, watched

_KIND = "model of patterns, version 1"


class Model:
    """Counts of patterns, by their text and features: numbers and ids of subscriptions may change.

    Beside them, where operators were called, how often what is asked of them holds, and what they cost.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        counts: Mapping[str, Counts] | None = None,
        operators: Statistics | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self._counts = dict(counts or {})
        self._operators = operators if operators else None

    @property
    def operators(self) -> Statistics | None:
        """A copy of what is known of operators, that may go on learning; None if that is nothing."""
        return None if self._operators is None else self._operators.copy()

    def knowing(self, operators: Statistics | None) -> Model:
        """The same of patterns, and this of operators, as it is now."""
        return Model(self.settings, self._counts, None if operators is None else operators.copy())

    def __len__(self) -> int:
        return len(self._counts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __contains__(self, name: object) -> bool:
        return name in self._counts

    def lacks(self, records: Records) -> list[str]:
        """The ids of patterns that are to be forecast and of which it knows nothing."""
        return [one.id for one in watched(records).values() if one.name not in self]

    def counts(self, name: str) -> Counts:
        """A copy of what is known of a pattern, that may go on counting."""
        return self._counts.get(name, Counts()) + Counts()

    def __add__(self, other: Model) -> Model:
        """What was learnt from two parts of a history, whose partitions differ, as if from the whole."""
        counts: dict[str, Counts] = {}
        for name in dict.fromkeys([*self._counts, *other._counts]):
            one, another = self._counts.get(name), other._counts.get(name)
            most = min(each.most for each in (one, another) if each is not None)
            counts[name] = (one or Counts(most=most)) + (another or Counts(most=most))
        known = [each for each in (self._operators, other._operators) if each is not None]
        operators = sum(known[1:], known[0]) if known else None
        return Model(self.settings, counts, operators)

    # ------------------------------------------------------------ parts of a history

    @property
    def exhausted(self) -> bool:
        """Whether some pattern has more states or kinds of events than can be told apart: the first to come are."""
        return any(counts.exhausted for counts in self._counts.values())

    def numbering(self) -> Model:
        """What is told apart, with nothing counted: for those who count anew what is the same for all of them."""
        return Model(self.settings, {name: counts.numbering() for name, counts in self._counts.items()})

    def begun(self, name: str) -> Counts:
        """The same of one pattern."""
        return self._counts[name].numbering()

    def whole(self, records: Records) -> Model:
        """A sum of parts as if it had been learnt in one place: in the order of patterns, with no move too many."""
        names = dict.fromkeys(one.name for one in watched(records).values())
        return Model(self.settings, {name: self.counts(name) for name in names if name in self}, self._operators)

    def to_bytes(self) -> bytes:
        """All of it, as arrays and JSON."""
        arrays: dict[str, NDArray[Any]] = {}
        for number, counts in enumerate(self._counts.values()):
            arrays |= named.under(str(number), counts.arrays())
        plain = {name: counts.plain() for name, counts in self._counts.items()}
        operators = None if self._operators is None else self._operators.plain()
        return packed(_KIND, arrays, {"settings": asdict(self.settings), "patterns": plain, "operators": operators})

    @classmethod
    def from_bytes(cls, data: bytes, most: int | None = None) -> Model:
        """What `to_bytes` gave, with room for so many moves of a pattern; SnapshotError if it is something else."""
        arrays, plain = unpacked(_KIND, data)
        try:
            counts = {
                name: Counts.restored(facts, named.of(str(number), arrays), most)
                for number, (name, facts) in enumerate(plain["patterns"].items())
            }
            known = plain.get("operators")
            operators = None if known is None else Statistics.from_plain(known, "what it knows of operators")
            return cls(Settings(**plain["settings"]), counts, operators)
        except (KeyError, TypeError, ValueError, AttributeError, FileError) as error:
            raise SnapshotError(f"a model of patterns that is not whole: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one file, beside its place first, so that it is whole or not there."""
        place = Path(path)
        beside = place.with_name(f".{place.name}.{os.getpid()}")
        try:
            beside.write_bytes(self.to_bytes())
            beside.replace(place)
        except OSError as error:
            raise FileError(f"{path} cannot be written: {error.strerror}") from error
        finally:
            beside.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read a file that `save` wrote."""
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise FileError(f"{path} cannot be read: {error.strerror}\nHint: vedette train makes a model") from error
        try:
            return cls.from_bytes(data)
        except SnapshotError as error:
            raise SnapshotError(f"{path} is not a model: {error}\nHint: make it anew with vedette train") from error

    def __repr__(self) -> str:
        known = "" if self._operators is None else ", operators"
        return f"<Model: {len(self):,} {'pattern' if len(self) == 1 else 'patterns'}{known}>"


class Trainer:
    """Learns from observations, however many batches they come in.

    Of a part of a history it keeps more moves (`most`), since only of the whole can be said which are the rarest, and
    may be told before what is told apart (`numbering`).
    """

    def __init__(
        self,
        records: Records,
        settings: Settings | None = None,
        *,
        most: int | None = None,
        numbering: Model | None = None,
    ) -> None:
        self._settings = settings or Settings()
        self._most, self._numbering = most, numbering
        self._counts: dict[str, Counts] = {}
        self._watched = watched(records)
        self._tracks: dict[int, Tracks] = {}

    def see(self, seen: Observations) -> None:
        """Count the moves of all patterns."""
        for number, one in self._watched.items():
            rows = np.flatnonzero(seen.pattern == number)
            if rows.size:
                if one.name not in self._counts:
                    self._counts[one.name] = self._begun(one)
                counts = self._counts[one.name]
                self._count(number, one, seen, rows, counts)
                for part, mine in enumerate(rows_of_parts(seen, number, one.parts)):
                    self._count(part_number(number, part), one, seen, mine, counts.parts[part])

    def _begun(self, one: Watched) -> Counts:
        if self._numbering is not None and one.name in self._numbering:
            return self._numbering.begun(one.name)
        return Counts(most=self._most).with_parts(one.parts)

    def _count(self, number: int, one: Watched, seen: Observations, rows: NDArray[np.int64], counts: Counts) -> None:
        if number not in self._tracks:
            self._tracks[number] = Tracks(context=self._settings.context, aged=one.aged)
        moves = self._tracks[number].advance(seen, rows, counts.names)
        counts.add(moves.source, moves.target, rows.size - 1 - np.searchsorted(rows, moves.row))
        if self._tracks[number].crowded():
            self._tracks[number].forget()

    def model(self, operators: Statistics | None = None) -> Model:
        """What has been learnt so far, of operators by those who called them."""
        return Model(self._settings, self._counts, operators)


def train(observations: Iterable[Observations], records: Records, settings: Settings | None = None) -> Model:
    """A model of the patterns that are forecast, from a history."""
    trainer = Trainer(records, settings)
    for seen in observations:
        trainer.see(seen)
    return trainer.model()
