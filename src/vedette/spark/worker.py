"""The loop of a worker: decode -> step -> rows, whatever the source and whatever the set.

A decoder turns what Spark hands over into chunks of events, the engine's step matches them, and a writer makes rows of
the outcomes. Beside it stands one path that is faster, with its figure: `vedette.spark.texts`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from vedette.engine.state import StreamOptions
from vedette.errors import InputError, VedetteError
from vedette.io.chunk_stepper import ChunkStepper, SliceOutcome
from vedette.schema.columns import Column
from vedette.spark.engines import Sent, engine_here
from vedette.spark.readers import ReadChunk, Reader


class Writer(ABC):
    """Writes the outcomes of a task as rows, or as arrays."""

    @abstractmethod
    def write(self, read: ReadChunk, found: SliceOutcome) -> Iterator[Any]:
        """The rows of a slice of a chunk."""

    def written(self, read: ReadChunk) -> Iterator[Any]:
        """The rows of a chunk, after those of its slices."""
        yield from ()

    def end(self) -> Iterator[Any]:
        """The rows of the whole task, after all others."""
        yield from ()

    def failed(self, read: ReadChunk, error: InputError) -> Iterator[Any]:
        """The rows of a chunk whose events cannot be matched; by default that ends the job."""
        raise error


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """All that is sent to a worker."""

    sent: Sent
    decoder: Callable[[], Reader]
    writer: Callable[[ChunkStepper], Writer]
    promised: tuple[Column, ...] = ()  # columns that are read of every event, whoever subscribes

    def run(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Batches in, rows out."""
        try:
            yield from self._run(batches)
        except VedetteError as error:
            # Spark shows the trace with the message, and the message says it all.
            raise error.with_traceback(None) from None

    def _run(self, batches: Iterator[Any]) -> Iterator[Any]:
        with engine_here(self.sent) as engine:
            stepper = ChunkStepper(engine, StreamOptions(promised=self.promised))
            decoder, writer = self.decoder(), self.writer(stepper)
            for batch in batches:
                for read in decoder.read(batch):
                    chunk = read.chunk if read.names is None else replace(read.chunk, own_ids=read.names)
                    try:
                        for found in stepper.step(chunk):
                            yield from writer.write(read, found)
                    except InputError as error:
                        yield from writer.failed(read, error)
                    else:
                        yield from writer.written(read)
            yield from writer.end()
