"""The indexes by name; each is imported when it is first asked for."""

from __future__ import annotations

import importlib

from vedette.errors import InputError
from vedette.matching.index import Index

_PLACES = {
    "clusters": ("vedette.matching.clusters", "Clusters"),
    "scan": ("vedette.matching.scan", "Scan"),
    "tree": ("vedette.matching.tree", "Tree"),
}
NAMES = tuple(_PLACES)
DEFAULT = "clusters"


def index_class(name: str) -> type[Index]:
    """The class of an index."""
    if name not in _PLACES:
        raise InputError(f"there is no index {name!r}\nHint: the indexes are {', '.join(NAMES)}")
    module, attribute = _PLACES[name]
    found: type[Index] = getattr(importlib.import_module(module), attribute)
    return found
