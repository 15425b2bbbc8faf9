"""Sources of bytes: a path or standard input, plain or gzipped, with a format; and their lines of text."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

from vedette.errors import FileError

BLOCK = 1 << 22
GZIP = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_FORMATS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".yaml": "yaml",
    ".yml": "yaml",
}


@dataclass
class InputSource:
    """A path, or standard input (`path` None), with the format to read."""

    path: Path | None
    format: str
    size: int | None = None  # in bytes, as stored
    replayed: bool = False  # what can be read only once is kept as it is read, to be read once more
    _raw: Any = field(default=None, repr=False)
    _once: ReplayableBlocks | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The name in messages."""
        return "standard input" if self.path is None else str(self.path)

    @property
    def read_twice(self) -> bool:
        """Whether it can be read again from its start."""
        return self.path is not None and (self.path.is_file() or self.path.is_dir())

    @property
    def progress(self) -> float | None:
        """The part of it that has been read, from 0 to 1; None if unknown."""
        if self._raw is None or not self.size:
            return None
        try:
            return min(1.0, float(self._raw.tell()) / self.size)
        except (OSError, ValueError):  # closed: read to its end
            return 1.0

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the bytes, gunzipped if necessary."""
        if self.path is None:
            yield _gunzipped(sys.stdin.buffer)
            return
        try:
            raw = self.path.open("rb")
        except OSError as error:
            raise FileError(
                f"cannot open {self.name}: {_why(error)}\nHint: check the path and its permissions"
            ) from None
        with raw:
            self._raw = raw
            yield _gunzipped(raw)

    def blocks(self) -> Iterator[bytes]:
        """The bytes from start to end, without a byte order mark."""
        if not self.replayed or self.read_twice:
            return self._blocks()
        if self._once is None:
            self._once = ReplayableBlocks(self._blocks())
            return self._once
        return self._once.again()

    def _blocks(self) -> Iterator[bytes]:
        with self.open() as stream:
            first = True
            # A pipe hands over what it has, so that a slow writer is read as it writes.
            read = getattr(stream, "read1", stream.read) if self.path is None else stream.read
            while block := self._read(read, BLOCK):
                if first:
                    first = False
                    if block[:2] in (b"\xff\xfe", b"\xfe\xff"):
                        raise FileError(
                            f"{self.name} is UTF-16 text, not UTF-8\nHint: convert it: iconv -f UTF-16 -t UTF-8"
                        )
                    block = block.removeprefix(BYTE_ORDER_MARK)
                yield block

    def read(self) -> bytes:
        """All bytes at once."""
        return b"".join(self.blocks())

    def _read(self, read: Any, size: int) -> bytes:
        try:
            block: bytes = read(size)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FileError(f"{self.name} is a damaged gzip file ({error})\nHint: fetch or compress it again") from None
        except OSError as error:
            raise FileError(f"cannot read {self.name}: {_why(error)}") from None
        return block


class BytesSource(InputSource):
    """Bytes that were read elsewhere, with the name they had there."""

    def __init__(self, name: str, content: bytes, format: str = "csv") -> None:
        super().__init__(None, format, len(content))
        self._name, self._content = name, content

    @property
    def name(self) -> str:
        """The name in messages."""
        return self._name

    @property
    def read_twice(self) -> bool:
        """Always true: bytes can be read again."""
        return True

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the bytes, gunzipped if necessary."""
        yield _gunzipped(io.BufferedReader(io.BytesIO(self._content)))


class ReplayableBlocks(Iterator[bytes]):
    """Blocks of bytes that can be read from their start once more: those already read are kept until then."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._seen: list[bytes] = []

    def __next__(self) -> bytes:
        block = next(self._blocks)
        self._seen.append(block)
        return block

    def again(self) -> Iterator[bytes]:
        """Read from the start again; the first reader reads no further."""
        seen, self._seen = self._seen, []
        return chain(seen, self._blocks)


def source_of(source: str | os.PathLike[str], format: str | None, formats: tuple[str, ...]) -> InputSource:
    """The source at a path or `-`, with its format: as given, or by the name's ending (without `.gz`).

    FileError if nothing is there, or the format is not one of `formats`; a folder is one of Parquet files.
    """
    if format is not None and format not in formats:
        raise FileError(f"unknown format {format!r}\nHint: it is one of {', '.join(formats)}")
    if str(source) == "-":
        return InputSource(None, format or formats[0])
    path = Path(source)
    if not path.exists():
        raise FileError(f"{path}: no such file\nHint: check the path; `-` is standard input")
    if path.is_dir():
        if "parquet" not in formats or format not in (None, "parquet"):
            raise FileError(f"{path} is a folder, not a file\nHint: name one file in it")
        return InputSource(path, "parquet")
    found = format or source_format(path)
    if found == "jsonl" and "json" in formats:
        found = "json"
    if found not in formats:
        raise FileError(
            f"{path}: the name does not say which format it has\n"
            f"Hint: it ends in .{', .'.join(formats)} (or .gz after it), or give the format"
        )
    return InputSource(path, found, path.stat().st_size if path.is_file() else None)


def source_format(path: Path) -> str | None:
    """The format by the ending of the name, without `.gz`; None if the ending is not known."""
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] == ".gz":
        endings.pop()
    return _FORMATS.get(endings[-1]) if endings else None


def _gunzipped(stream: Any) -> IO[bytes]:
    peek = getattr(stream, "peek", None)
    if peek is not None and peek(2)[:2] == GZIP:
        return io.BufferedReader(gzip.GzipFile(fileobj=stream))
    found: IO[bytes] = stream
    return found


def _why(error: OSError) -> str:
    return error.strerror or str(error)


LONGEST = 1 << 26  # 64 MiB: a line beyond that is not kept in memory


class Lines(NamedTuple):
    """Consecutive lines; `first` is the number of the first one, counted from 1."""

    first: int
    lines: list[bytes]
    too_long: bool = False  # one line, of which only the beginning is here


class WholeLines(NamedTuple):
    """Consecutive lines before splitting: with an LF between them, but none at the end."""

    text: bytes
    too_long: bool = False


def split(blocks: Iterable[bytes], longest: int = LONGEST) -> Iterator[Lines]:
    """Split into complete lines, without their ends, about a block at a time."""
    return numbered(whole_lines(blocks, longest))


def numbered(texts: Iterable[WholeLines]) -> Iterator[Lines]:
    """Lines one by one, with their numbers."""
    number = 1
    for text, too_long in texts:
        lines = text.split(b"\n")
        yield Lines(number, lines, too_long)
        number += len(lines)


def whole_lines(blocks: Iterable[bytes], longest: int = LONGEST) -> Iterator[WholeLines]:
    """Blocks of bytes cut again at line ends; about a block at a time."""
    rest: list[bytes] = []  # the beginning of a line whose end has not come yet
    held = 0
    skipping = False
    for block in blocks:
        if skipping:
            _, newline, block = block.partition(b"\n")
            if not newline:
                continue
            skipping = False
        cut = block.rfind(b"\n")
        if cut < 0:
            rest.append(block)
            held += len(block)
        else:
            yield WholeLines(b"".join([*rest, block[:cut]]))
            rest, held = [block[cut + 1 :]], len(block) - cut - 1
        if held > longest:
            yield WholeLines(b"".join(rest)[:200], True)
            rest, held, skipping = [], 0, True
    last = b"".join(rest)
    if last:
        yield WholeLines(last)
