"""`vedette subscribe`, `publish` and `tail`: use the service from the command line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import orjson

from vedette.cli.terminal import Terminal, counted
from vedette.errors import InputError
from vedette.io.events import read_events

if TYPE_CHECKING:
    from vedette.client import Client

URL, KEY = "VEDETTE_URL", "VEDETTE_KEY"
_BATCH = 100  # events that are published together
_PAGE, _WAIT = 32, 20.0  # notifications of one request, and seconds to wait for the first


def client_of(url: str, key: str | None) -> Client:
    """A client of the service; InputError without a key."""
    from vedette.client import Client

    if not key:
        raise InputError(f"there is no key\nHint: --key, or the environment variable {KEY}; `vedette serve` prints one")
    return Client(url, key)


def subscribe(url: str, key: str | None, when: str, *, listen: bool, **options: Any) -> None:
    """Subscribe, and print the subscription with its ticket; with `listen`, then its notifications."""
    with client_of(url, key) as client:
        made = client.subscribe(when, **options)
        _say(made)
        if listen:
            for one in client.listen(made["id"], peek=True):
                _say(one)


def publish(
    url: str, key: str | None, source: str, stream: str, format_: str | None, *, validate: bool = False
) -> None:
    """Publish the events of a file or of standard input, in batches, in order.

    With `validate` a batch with an event that breaks the schema of the stream ends it.
    """
    terminal = Terminal()
    accepted = duplicates = 0
    with client_of(url, key) as client, terminal.working("publishing", "events") as bar:
        for batch in _batches(source, format_):
            answer = client.publish(batch, stream=stream, validate=validate)
            accepted += answer["accepted"]
            duplicates += answer["duplicates"]
            bar.show(None, accepted + duplicates)
    again = f", {counted(duplicates, 'was', 'were')} there already" if duplicates else ""
    terminal.note(f"{counted(accepted, 'event')} accepted{again}")


def tail(url: str, key: str | None, id_: str, last: str | None, *, consume: bool) -> None:
    """Print the notifications of a subscription as they come, one per line, until interrupted.

    They stay pending, unless `consume` acknowledges those that were printed.
    """
    with client_of(url, key) as client:
        if consume:
            _consume(client, id_)
        for one in client.listen(id_, last=last, peek=True):
            _say(one)


def _consume(client: Client, id_: str) -> NoReturn:
    """Print pending notifications and acknowledge just those, until interrupted."""
    from vedette.client import calls

    while True:
        queued = client.send(calls.queued(id_, limit=_PAGE, wait=_WAIT))
        if queued["dropped"]:
            _say({"kind": "dropped", "dropped": queued["dropped"]})
        printed: list[str] = []
        try:
            for one in queued["notifications"]:
                _say(one)
                printed.append(one["id"])
        finally:  # even if nobody reads standard output any more, or the command is interrupted
            if printed:
                client.acknowledge(id_, printed)


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
