"""Commands of the service: serve it, and use one that runs: subscribe, publish, tail."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.cli.choices import EventsFormat

Url = Annotated[str, typer.Option("--url", envvar="VEDETTE_URL", help="Where the service is.")]
Key = Annotated[
    str | None,
    typer.Option("--key", envvar="VEDETTE_KEY", help="A tenant's key.", show_envvar=True, show_default=False),
]
StreamName = Annotated[str, typer.Option("--stream", help="The stream of events.")]
_URL = "http://127.0.0.1:8080"


def serve_command(
    settings: Annotated[
        str | None,
        typer.Option(
            "--settings", metavar="FILE", help="Settings in TOML.", show_default="vedette.toml, if it is there"
        ),
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="Instead of what the settings say.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Instead of what the settings say.", show_default="8080")] = None,
) -> None:
    """Serve subscriptions over HTTP: subscribe, publish, get notifications.

    What is acknowledged is on the disk. Ctrl-C or SIGTERM ends it in order.
    """
    from vedette.cli.serve import serve

    serve(settings, host, port)


def subscribe_command(
    when: Annotated[str, typer.Argument(metavar="WHEN", help='A filter or pattern, e.g. "price < 120".')],
    url: Url = _URL,
    key: Key = None,
    stream: StreamName = "default",
    dialect: Annotated[str | None, typer.Option(help="What WHEN is written in.", show_default="Vedette's own")] = None,
    subscriber: Annotated[str | None, typer.Option(help="A name that notifications carry.")] = None,
    validity: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="How long it stands.", show_default="what the service says")
    ] = None,
    webhook: Annotated[
        str | None, typer.Option(metavar="URL", help="Send notifications there.", show_default="keep them to be read")
    ] = None,
    within: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Tell of a pattern that will probably complete within N events, too."),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(metavar="P", min=0, max=1, help="... that is at least so probable.")
    ] = None,
    listen: Annotated[
        bool, typer.Option("--listen", "-l", help="Then show notifications as they come; they wait on.")
    ] = False,
) -> None:
    """Subscribe at a service. Prints the subscription with its ticket, which is needed to change it."""
    from vedette.cli import remote_service

    if (within is None) is not (threshold is None):
        raise typer.BadParameter("--within and --threshold go together")
    remote_service.subscribe(
        url,
        key,
        when,
        listen=listen,
        stream=stream,
        dialect=dialect,
        subscriber=subscriber,
        validity=validity,
        webhook=webhook,
        predict=None if within is None else {"within": within, "threshold": threshold},
    )


def publish_command(
    events: Annotated[str, typer.Argument(metavar="EVENTS", help="JSONL, CSV or Parquet file; `-`: standard input.")],
    url: Url = _URL,
    key: Key = None,
    stream: StreamName = "default",
    format: Annotated[
        EventsFormat | None, typer.Option("--events-format", help="Instead of what the name's ending says.")
    ] = None,
    validate: Annotated[
        bool,
        typer.Option("--validate", help="End at a batch with an event that breaks the schema; none of it is accepted."),
    ] = False,
) -> None:
    """Publish events at a service, in order and in batches."""
    from vedette.cli import remote_service

    remote_service.publish(url, key, events, stream, None if format is None else format.value, validate=validate)


def tail_command(
    subscription: Annotated[str, typer.Argument(metavar="SUBSCRIPTION", help="The id that subscribing gave.")],
    url: Url = _URL,
    key: Key = None,
    last: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Go on after this notification.", show_default="the oldest that waits"),
    ] = None,
    consume: Annotated[
        bool, typer.Option("--consume", help="Acknowledge what was printed: it is not told again.")
    ] = False,
) -> None:
    """Show the notifications of a subscription one a line, as they come. They stay pending unless they are consumed."""
    from vedette.cli import remote_service

    if consume and last is not None:
        raise typer.BadParameter("--consume begins with the oldest that waits: leave out --last")
    remote_service.tail(url, key, subscription, last, consume=consume)
