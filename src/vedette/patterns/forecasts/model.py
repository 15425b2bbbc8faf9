"""A model: what was learned of patterns and operators, saved in one file; and training from history."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.errors import DamageError, FileError, SnapshotError
from vedette.operators.statistics import MEMORY, Statistics
from vedette.patterns.forecast_parts import ForecastPattern, PatternRecords, forecast_patterns, part_number
from vedette.patterns.forecasts.counts import MoveCounts
from vedette.patterns.forecasts.part_forecasts import rows_of_parts
from vedette.patterns.forecasts.partition_tracks import PartitionTracks
from vedette.patterns.forecasts.probability_table import ForecastSettings
from vedette.patterns.outputs import Observations
from vedette.patterns.packing import arrays_of, arrays_under, packed, unpacked

_KIND = "model of patterns, version 1"


class Model:
    """Counts of patterns, by their text and features: numbers and ids of subscriptions may change.

    If operators were called, also how often their predicates hold, and what they cost.
    """

    def __init__(
        self,
        settings: ForecastSettings | None = None,
        counts: Mapping[str, MoveCounts] | None = None,
        operators: Statistics | None = None,
    ) -> None:
        self.settings = ForecastSettings() if settings is None else settings
        self._counts = dict(counts or {})
        tells = operators is not None and (len(operators) > 0 or operators.memory != MEMORY)
        self._operators = operators if tells else None

    @property
    def operators(self) -> Statistics | None:
        """A copy of the statistics of operators, that may continue learning; None if there are none."""
        return None if self._operators is None else self._operators.copy()

    def knowing(self, operators: Statistics | None) -> Model:
        """This model with these statistics of operators, as they are now."""
        return Model(self.settings, self._counts, None if operators is None else operators.copy())

    def __len__(self) -> int:
        return len(self._counts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __contains__(self, name: object) -> bool:
        return name in self._counts

    def lacks(self, records: PatternRecords) -> list[str]:
        """The ids of patterns that ask for forecasts and are not in the model."""
        return [one.id for one in forecast_patterns(records).values() if one.name not in self]

    def counts(self, name: str) -> MoveCounts:
        """A copy of a pattern's counts, that may continue counting."""
        return self._counts.get(name, MoveCounts()) + MoveCounts()

    def __add__(self, other: Model) -> Model:
        """The sum of models of two parts of a history with different partitions: as if learned from the whole."""
        counts: dict[str, MoveCounts] = {}
        for name in dict.fromkeys([*self._counts, *other._counts]):
            one, another = self._counts.get(name), other._counts.get(name)
            most = min(each.most for each in (one, another) if each is not None)
            counts[name] = (one or MoveCounts(most=most)) + (another or MoveCounts(most=most))
        known = [each for each in (self._operators, other._operators) if each is not None]
        operators = sum(known[1:], known[0]) if known else None
        return Model(self.settings, counts, operators)

    # ------------------------------------------------------------ parts of a history

    @property
    def exhausted(self) -> bool:
        """Whether some pattern has more states or kinds of events than numbers for them: the first ones got them."""
        return any(counts.exhausted for counts in self._counts.values())

    def numbering(self) -> Model:
        """Copy of the numbering with zero counts, for processes that count anew with the same numbers."""
        return Model(self.settings, {name: counts.numbering() for name, counts in self._counts.items()})

    def begun(self, name: str) -> MoveCounts:
        """The numbering of one pattern, with zero counts."""
        return self._counts[name].numbering()

    def whole(self, records: PatternRecords) -> Model:
        """Bring a sum of parts into the form of one training: patterns in order, and not too many moves."""
        names = dict.fromkeys(one.name for one in forecast_patterns(records).values())
        return Model(self.settings, {name: self.counts(name) for name in names if name in self}, self._operators)

    def to_bytes(self) -> bytes:
        """The model, as arrays and JSON."""
        arrays: dict[str, NDArray[Any]] = {}
        for number, counts in enumerate(self._counts.values()):
            arrays |= arrays_under(str(number), counts.arrays())
        plain = {name: counts.plain() for name, counts in self._counts.items()}
        operators = None if self._operators is None else self._operators.plain()
        return packed(_KIND, arrays, {"settings": asdict(self.settings), "patterns": plain, "operators": operators})

    @classmethod
    def from_bytes(cls, data: bytes, most: int | None = None) -> Model:
        """Restore what `to_bytes` returned, with room for so many moves of a pattern; SnapshotError if invalid."""
        arrays, plain = unpacked(_KIND, data)
        try:
            counts = {
                name: MoveCounts.restored(facts, arrays_of(str(number), arrays), most)
                for number, (name, facts) in enumerate(plain["patterns"].items())
            }
            known = plain.get("operators")
            operators = None if known is None else Statistics.from_plain(known, "what it knows of operators")
            return cls(ForecastSettings(**plain["settings"]), counts, operators)
        except (KeyError, TypeError, ValueError, AttributeError, FileError) as error:
            raise SnapshotError(f"a model of patterns that is not whole: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one file, atomically."""
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
        except DamageError as error:
            hint = "\nHint: restore it from a copy, or make it anew with vedette train"
            raise DamageError(path, "is damaged", f": its checksum does not fit{hint}") from error
        except SnapshotError as error:
            raise SnapshotError(f"{path} is not a model: {error}\nHint: make it anew with vedette train") from error

    def __repr__(self) -> str:
        known = "" if self._operators is None else ", operators"
        return f"<Model: {len(self):,} {'pattern' if len(self) == 1 else 'patterns'}{known}>"


class Trainer:
    """Learns from observations, in any number of batches.

    States are numbered partition by partition if the history comes as a `whole`, as on Spark, else as events come.

    For a part of a history it keeps more moves (`most`), since only the whole decides which are the rarest, and it may
    get the numbering of states in advance (`numbering`).
    """

    def __init__(
        self,
        records: PatternRecords,
        settings: ForecastSettings | None = None,
        *,
        most: int | None = None,
        numbering: Model | None = None,
        whole: bool = True,
    ) -> None:
        self._whole = whole
        self._settings = ForecastSettings() if settings is None else settings
        self._most, self._numbering = most, numbering
        self._counts: dict[str, MoveCounts] = {}
        self._watched = forecast_patterns(records)
        self._tracks: dict[int, PartitionTracks] = {}

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

    def _begun(self, one: ForecastPattern) -> MoveCounts:
        if self._numbering is not None and one.name in self._numbering:
            return self._numbering.begun(one.name)
        return MoveCounts(most=self._most).with_parts(one.parts)

    def _count(
        self, number: int, one: ForecastPattern, seen: Observations, rows: NDArray[np.int64], counts: MoveCounts
    ) -> None:
        if number not in self._tracks:
            self._tracks[number] = PartitionTracks(
                context=self._settings.context, aged=one.aged, by_partition=self._whole
            )
        moves = self._tracks[number].advance(seen, rows, counts.names)
        counts.add(moves.source, moves.target)
        if self._tracks[number].crowded():
            self._tracks[number].forget()

    def model(self, operators: Statistics | None = None) -> Model:
        """The model learned so far, with the statistics of operators from their callers."""
        return Model(self._settings, self._counts, operators)


def train(
    observations: Iterable[Observations], records: PatternRecords, settings: ForecastSettings | None = None
) -> Model:
    """Train a model of the patterns that ask for forecasts, from a history."""
    trainer = Trainer(records, settings)
    for seen in observations:
        trainer.see(seen)
    return trainer.model()
