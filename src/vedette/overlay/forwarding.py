"""What does a neighbour know of us, and what is held back because it is covered by that?

What a neighbour was told always covers all that is wanted of it: what was held back because of a subscription is
forwarded before that one is cancelled. So there is no moment at which an event could be missed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping

from vedette.errors import InputError, NotSupported
from vedette.overlay.cover import Cover
from vedette.overlay.digests import part
from vedette.overlay.messages import Cancel, Key, Subscribe


class Forwarding:
    """One direction of a link, seen from where subscriptions are sent."""

    def __init__(self, cover: Cover) -> None:
        self._cover = cover
        self.forwarded: dict[Key, str] = {}
        self._held: dict[Key, tuple[str, tuple[Key, ...]]] = {}  # its text, and what covers it
        self._holding: dict[Key, dict[Key, None]] = {}  # what is held back because of one that was forwarded

    def __contains__(self, key: Key) -> bool:
        return key in self.forwarded or key in self._held

    def __iter__(self) -> Iterator[Key]:
        yield from self.forwarded
        yield from self._held

    @property
    def held(self) -> Mapping[Key, tuple[Key, ...]]:
        """What is held back, and because of which."""
        return {key: by for key, (_, by) in self._held.items()}

    def change(self, wanted: Mapping[Key, str], gone: Iterable[Key]) -> list[Subscribe | Cancel]:
        """Let some be wanted from now on and others no more; what the neighbour has to be told, in this order."""
        cancelled = []
        for key in gone:
            if key in self._held:
                self._release(key)
            elif self.forwarded.pop(key, None) is not None:
                self._cover.withdraw(key)
                cancelled.append(key)
        uncertain = {held: self._release(held) for key in cancelled for held in list(self._holding.get(key, ()))}
        told: list[Subscribe | Cancel] = []
        for key, text in {**uncertain, **wanted}.items():
            by = self._offer(key, text)
            if by is None:
                self.forwarded[key] = text
                told.append(Subscribe(key, text))
            else:
                self._hold(key, text, by)
        return [*told, *map(Cancel, cancelled)]

    def correct(self, parts: Iterable[int], had: Mapping[Key, str]) -> None:
        """Take it that of these parts the neighbour has just this; what is held back has to be looked at again."""
        wrong = frozenset(parts)
        for key in [key for key in self.forwarded if part(key) in wrong]:
            del self.forwarded[key]
            self._cover.withdraw(key)
        for key, text in had.items():
            self.forwarded[key] = text
            with contextlib.suppress(InputError, NotSupported):
                self._cover.told(key, text)
        self._held.clear()
        self._holding.clear()

    def _offer(self, key: Key, text: str) -> tuple[Key, ...] | None:
        try:
            return self._cover.offer(key, text)
        except (InputError, NotSupported):  # of a text that another broker could read
            return None

    def _hold(self, key: Key, text: str, by: tuple[Key, ...]) -> None:
        self._held[key] = text, by
        for each in by:
            self._holding.setdefault(each, {})[key] = None

    def _release(self, key: Key) -> str:
        text, by = self._held.pop(key)
        for each in by:
            del self._holding[each][key]
            if not self._holding[each]:
                del self._holding[each]
        return text
