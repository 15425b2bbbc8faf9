"""Bits flipped in the files of a snapshot and in states, one at a time, and what became of each."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vedette.errors import DamageError, FileError, SnapshotError


@dataclass(frozen=True)
class Flips:
    """How many bits were flipped, how many of them were reported at their place, and what happened to the others."""

    tried: int
    reported: int
    others: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {"flips": self.tried, "reported": self.reported, "others": list(self.others[:20])}


def snapshot_flips(opened: Callable[[Path], object], folder: Path, count: int, *, seed: int) -> Flips:
    """Flip bits of a snapshot's files where they lie, each file by its share of bytes, and open it each time."""
    chance = random.Random(seed)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sizes = [path.stat().st_size for path in files]
    reported, others = 0, []
    for path in chance.choices(files, sizes, k=count):
        place, bit = chance.randrange(path.stat().st_size), 1 << chance.randrange(8)
        flip_in_file(path, place, bit)
        try:
            opened(folder)
        except (SnapshotError, FileError) as error:
            # The message begins with the file, or with the folder whose manifest cannot be believed.
            named = str(error).startswith((str(path), str(path.parent)))
            near = not isinstance(error, DamageError) or error.offset is None or error.offset <= place
            reported += named and near
            if not (named and near):
                others.append(f"{path.name}, byte {place}, bit {bit}: {error}")
        except Exception as error:  # what a flip must not come to: another error than ours
            others.append(f"{path.name}, byte {place}, bit {bit}: {type(error).__name__}: {error}")
        else:
            others.append(f"{path.name}, byte {place}, bit {bit}: opened")
        finally:
            flip_in_file(path, place, bit)
    opened(folder)
    return Flips(count, reported, tuple(others))


def state_flips(restored: Callable[[bytes], object], state: bytes, count: int, *, seed: int) -> Flips:
    """Flip bits of a state, and restore each."""
    chance, reported, others = random.Random(seed), 0, []
    for _ in range(count):
        place, bit = chance.randrange(len(state)), 1 << chance.randrange(8)
        damaged = bytearray(state)
        damaged[place] ^= bit
        try:
            restored(bytes(damaged))
        except SnapshotError:
            reported += 1
        except Exception as error:  # what a flip must not come to: another error than ours
            others.append(f"byte {place}, bit {bit}: {type(error).__name__}: {error}")
        else:
            others.append(f"byte {place}, bit {bit}: restored")
    restored(state)
    return Flips(count, reported, tuple(others))


def flip_in_file(path: Path, place: int, bit: int) -> None:
    """Flip one bit where it lies."""
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ bit]))
