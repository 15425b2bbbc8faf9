"""Every subscription that a broker knows, with its source, and the matching of events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from vedette.errors import InputError, NotSupported
from vedette.filters.live import LiveMatcher
from vedette.filters.subscription_set import SubscriptionSet
from vedette.filters.templates import HasOperators, IsPattern, Templates
from vedette.overlay.messages import SubscriptionKey
from vedette.schema.schema import Schema

HERE = ""  # the source of subscriptions that are made at this broker; no link has this name


class Interests:
    """Subscriptions by key. Equal texts are matched once, for all subscribers.

    A text that cannot be read here may be readable elsewhere, so it is assumed to match every event.
    """

    def __init__(self, schema: Schema) -> None:
        self._live = LiveMatcher(SubscriptionSet(schema).compile_filters())
        self._templates = Templates(schema)
        self._texts: dict[SubscriptionKey, str] = {}
        self._sources: dict[SubscriptionKey, set[str]] = {}
        self._asked: dict[str, Counter[str]] = {}  # by text: how many of which source
        self._unreadable: set[str] = set()
        self._compiled: set[str] = set()
        self._touched: set[str] = set()  # texts added or removed since the last event

    # ------------------------------------------------------------ changes

    def check(self, text: str) -> None:
        """FilterError or NotSupported if the text is not a filter that can be matched here."""
        try:
            self._templates.normal_form(text)
        except (HasOperators, IsPattern) as error:
            raise NotSupported(f"{error}\nHint: brokers take filters over one event, without operators") from None

    def add(self, key: SubscriptionKey, text: str, source: str) -> str | None:
        """Add a subscription of a source; return what is wrong with a text that cannot be read."""
        sources = self._sources.setdefault(key, set())
        if source in sources:
            return None
        sources.add(source)
        self._texts[key] = text
        self._touched.add(text)
        if text in self._asked:
            self._asked[text][source] += 1
            return None
        self._asked[text] = Counter({source: 1})
        try:
            self.check(text)
        except (InputError, NotSupported) as error:
            self._unreadable.add(text)
            return f"subscription {key.id!r} of {key.origin!r} cannot be read here, and gets every event: {error}"
        return None

    def remove(self, key: SubscriptionKey, source: str) -> None:
        """Remove a subscription of a source."""
        sources = self._sources.get(key, set())
        if source not in sources:
            return
        sources.remove(source)
        text = self._texts[key]
        self._touched.add(text)
        asked = self._asked[text]
        asked[source] -= 1
        if not asked[source]:
            del asked[source]
        if not asked:
            del self._asked[text]
            self._unreadable.discard(text)
        if not sources:
            del self._sources[key], self._texts[key]

    # ------------------------------------------------------------ reading

    def __iter__(self) -> Iterator[SubscriptionKey]:
        return iter(self._texts)

    def wanted(self, key: SubscriptionKey, *, besides: str) -> str | None:
        """The text, if another source than this one has subscribed to it."""
        sources = self._sources.get(key, ())
        return self._texts[key] if len(sources) - (besides in sources) else None

    def matching(self, event: Mapping[str, Any]) -> tuple[frozenset[str], frozenset[str]]:
        """The texts that an event matches, and the sources that subscribed to them; SchemaError for a bad event."""
        self._compile()
        texts = self._unreadable.union(self._live.match(event))
        return frozenset(texts), frozenset(source for text in texts for source in self._asked[text])

    def _compile(self) -> None:
        """Bring the matcher up to date, with all changes since the last event."""
        new = []
        for text in self._touched:
            asked = text in self._asked and text not in self._unreadable
            if asked and text not in self._compiled:
                new.append(text)
            elif not asked and text in self._compiled:
                self._live.remove(text)
                self._compiled.remove(text)
        if new:
            self._live.add_many({"id": text, "when": text} for text in sorted(new))
        self._compiled.update(new)
        self._touched.clear()
