"""Finds and loads plug-ins by name through entry points, Vedette's own too.

A package provides a plug-in by a line of its pyproject.toml, and nothing else has to be changed:

    [project.entry-points."vedette.indexes"]
    mine = "my_package.my_module:MyIndex"

Nothing is loaded before it is looked up by its name. Names of Vedette's own are looked up in its own metadata alone,
which takes a millisecond; only for other names, and for lists, are all installed packages searched, once.
"""

from __future__ import annotations

import difflib
import functools
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from vedette.errors import InputError, VedetteError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

OWN: Final = "vedette"  # the distribution whose names take precedence over those of others
INDEXES: Final = "vedette.indexes"
OPERATORS: Final = "vedette.operators"
DIALECTS: Final = "vedette.dialects"
SOURCES: Final = "vedette.sources"
SINKS: Final = "vedette.sinks"
DEFAULT_INDEX: Final = "clusters"
T = TypeVar("T")


def names(group: str) -> tuple[str, ...]:
    """All names of a group, sorted; some of the plug-ins may not be loadable."""
    return tuple(sorted({*_own(group), *_others(group)}))


def has(group: str, name: str) -> bool:
    """Whether a plug-in of this name is installed."""
    return name in _own(group) or name in _others(group)


def meant(group: str, name: str) -> str | None:
    """The name in a group that a name may be a misspelling of."""
    return next(iter(difflib.get_close_matches(name[:60].lower(), names(group), 1, 0.7)), None)


def installed(group: str) -> list[EntryPoint]:
    """All entry points of a group, Vedette's own first."""
    return [*_own(group).values(), *(point for points in _others(group).values() for point in points)]


def lacking(found: object, *attributes: str) -> str | None:
    """The attributes that a plug-in of its kind must have but lacks."""
    missing = [name for name in attributes if not hasattr(found, name)]
    return f"it has no {' and no '.join(f'`{name}`' for name in missing)}" if missing else None


class Door(Generic[T]):
    """The plug-ins of one kind: the entry points of a group, each checked as it is loaded."""

    def __init__(
        self,
        group: str,
        check: Callable[[str, object], T],
        *,
        called: tuple[str, str],
        error: type[VedetteError] = InputError,
    ) -> None:
        """`check` takes a name and the loaded object, and raises TypeError if that is not such a plug-in.

        `called` has the nouns for one and for several of them; `error` is raised for a name that does not exist.
        """
        self.group = group
        self._check, self._called, self._error = check, called, error
        self._loaded: dict[tuple[str, str], T] = {}

    def find(self, name: str) -> T:
        """The plug-in of a name, loaded if necessary; the error says what is wrong, and with which package."""
        own = _own(self.group).get(name)
        found = _others(self.group).get(name, ()) if own is None else (own,)
        if not found:
            raise self.unknown(name)
        if len(found) > 1:
            raise self._error(
                f"there are {len(found)} {self._called[1]} {name!r}: of {' and of '.join(map(_whose, found))}\n"
                "Hint: uninstall all but one of these packages"
            )
        point = found[0]
        key = (point.name, point.value)
        if key not in self._loaded:
            self._loaded[key] = self._load(point)
        return self._loaded[key]

    def loadable(self) -> dict[str, T]:
        """All plug-ins that can be loaded, by name; the others are left out."""
        made = {}
        for name in names(self.group):
            with suppress(VedetteError):
                made[name] = self.find(name)
        return made

    def unknown(self, name: object) -> VedetteError:
        """The error that there is none of this name, with a hint at those that exist."""
        near = meant(self.group, name) if isinstance(name, str) else None
        hint = (
            f"the {self._called[1]} are {', '.join(names(self.group))}" if near is None else f"did you mean {near!r}?"
        )
        if not _own(self.group):
            hint = "Vedette is not installed as this version of it has to be: pip install it again"
        return self._error(f"there is no {self._called[0]} {name!r}\nHint: {hint}")

    def _load(self, point: EntryPoint) -> T:
        try:
            return self._check(point.name, point.load())
        except VedetteError:  # its own message says what is missing
            raise
        except (Exception, SystemExit) as error:
            raise self._error(
                f"the {self._called[0]} {point.name!r} cannot be loaded: {type(error).__name__}: {error}\n"
                f"Hint: it is {point.value} of {_whose(point)}: mend that package, or uninstall it"
            ) from error


def _whose(point: EntryPoint) -> str:
    return "an unknown package" if point.dist is None else f"{point.dist.name} {point.dist.version}"


@functools.cache
def _own(group: str) -> Mapping[str, EntryPoint]:
    import importlib.metadata  # loaded here, so that showing help does not load it

    try:
        points = importlib.metadata.distribution(OWN).entry_points
    except importlib.metadata.PackageNotFoundError:
        return {}
    return {point.name: point for point in points if point.group == group}


def _others(group: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    return _looked_up(group, tuple(sys.path))


@functools.lru_cache(maxsize=8)
def _looked_up(group: str, path: tuple[str, ...]) -> Mapping[str, tuple[EntryPoint, ...]]:
    """The entry points of other packages by name, for one search path."""
    import importlib.metadata

    made: dict[str, tuple[EntryPoint, ...]] = {}
    for point in importlib.metadata.entry_points(group=group):
        if point.dist is None or point.dist.name != OWN:
            made[point.name] = (*made.get(point.name, ()), point)
    return made
