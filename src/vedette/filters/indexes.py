"""The indexes by name: entry points of the group `vedette.indexes`, each a class that is an `Index`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from vedette import plugins
from vedette.plugins import Door, lacking

if TYPE_CHECKING:
    from vedette.filters.index import Index

DEFAULT: Final = "clusters"  # the default
AT_ONCE: Final = "scan"  # for few subscriptions or few events: needs no time to build


def _check(name: str, found: object) -> type[Index]:
    why = lacking(found, "name", "build", "match", "match_one", "arrays", "restore")
    if why is not None:
        raise TypeError(why)
    kind = cast("type[Index]", found)
    if kind.name != name:  # snapshots name the index to restore by this
        raise TypeError(f"its `name` is {kind.name!r}, which is not the name of its entry point")
    return kind


INDEXES: Final = Door(plugins.INDEXES, _check, called=("index", "indexes"))


def index_class(name: str) -> type[Index]:
    """The class of an index."""
    return INDEXES.find(name)


def names() -> tuple[str, ...]:
    """The names of the installed indexes, sorted."""
    return plugins.names(plugins.INDEXES)
