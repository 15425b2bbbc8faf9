"""`vedette subscribe`, `publish` and `tail`: the service from the command line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import orjson

from vedette.cli.terminal import Terminal, counted
from vedette.errors import InputError
from vedette.files.events import read_events

if TYPE_CHECKING:
    from vedette.client import Client

URL, KEY = "VEDETTE_URL", "VEDETTE_KEY"
_BATCH = 100  # events that are published together


def client_of(url: str, key: str | None) -> Client:
    """A client; InputError without a key."""
    from vedette.client import Client

    if not key:
        raise InputError(f"there is no key\nHint: --key, or the environment variable {KEY}; `vedette serve` prints one")
    return Client(url, key)


def subscribe(url: str, key: str | None, when: str, *, listen: bool, **options: Any) -> None:
    """Subscribe; what stands now, with its ticket, on standard output; with `listen`, then all that it tells."""
    with client_of(url, key) as client:
        made = client.subscribe(when, **options)
        _say(made)
        if listen:
            for one in client.listen(made["id"]):
                _say(one)


def publish(url: str, key: str | None, source: str, stream: str, format_: str | None) -> None:
    """Publish the events of a file or of standard input, in batches, in order."""
    terminal = Terminal()
    accepted = duplicates = 0
    with client_of(url, key) as client, terminal.working("publishing", "events") as bar:
        for batch in _batches(source, format_):
            answer = client.publish(batch, stream=stream)
            accepted += answer["accepted"]
            duplicates += answer["duplicates"]
            bar.show(None, accepted + duplicates)
    again = f", {counted(duplicates, 'was', 'were')} there already" if duplicates else ""
    terminal.note(f"{counted(accepted, 'event')} accepted{again}")


def tail(url: str, key: str | None, id_: str, last: str | None) -> None:
    """Notifications of a subscription as they come, one a line, until somebody ends it."""
    with client_of(url, key) as client:
        for one in client.listen(id_, last=last):
            _say(one)


def _batches(source: str, format_: str | None) -> Iterator[list[dict[str, Any]]]:
    for chunk in read_events(source, format=format_):
        events: Any = chunk.events
        rows = events if isinstance(events, list) else events.to_pylist()
        for reject in chunk.rejects:
            raise InputError(
                f"{source}, line {reject.line}: {reject.reason}\nHint: mend it; what came before is published"
            )
        for begin in range(0, len(rows), _BATCH):
            yield [orjson.loads(orjson.dumps(row, default=str)) for row in rows[begin : begin + _BATCH]]


def _say(one: Any) -> None:
    sys.stdout.write(orjson.dumps(one).decode() + "\n")
    sys.stdout.flush()
