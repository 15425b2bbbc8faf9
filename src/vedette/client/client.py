"""The clients `Client` (blocking) and `AsyncClient`; both get their methods from `vedette.client.calls`."""

from __future__ import annotations

import asyncio
import functools
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, Self, TypeVar

import orjson

from vedette.client import calls
from vedette.client.calls import ClientRequest
from vedette.errors import NotInstalled, Refused


class ServerSentEvent(NamedTuple):
    """One event of the stream."""

    kind: str
    id: str | None
    data: dict[str, Any]


class SseDecoder:
    """Turns the lines of a stream into events."""

    def __init__(self) -> None:
        self.last: str | None = None  # the id of the last event that came whole, to go on after
        self._kind, self._data = "message", list[str]()
        self._id: str | None = None

    def take(self, line: str) -> ServerSentEvent | None:
        """Process a line; return an event, if it completes one."""
        if not line:
            return self._completed()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._kind = value
        elif name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value
        return None

    def broken(self) -> None:
        """The connection broke: drop the incomplete event."""
        self._kind, self._data, self._id = "message", [], None

    def _completed(self) -> ServerSentEvent | None:
        kind, data = self._kind, "\n".join(self._data)
        self.last = self.last if self._id is None else self._id
        self.broken()
        return ServerSentEvent(kind, self.last, orjson.loads(data)) if data else None


try:
    import httpx
except ImportError:  # pragma: no cover - where the extra is missing
    raise NotInstalled('the client needs httpx\nHint: pip install "vedette[client]"') from None

P = ParamSpec("P")
T = TypeVar("T")
_TIMEOUT: Final = 30.0
_AGAIN: Final = (429, 502, 503, 504, 507)  # answers after which trying again makes sense; some are of proxies
_LONGEST_PAUSE: Final = 30.0


class _Client:
    """The common part of both clients: the address of the service, and the reading of answers."""

    def __init__(self, url: str = "http://127.0.0.1:8080", key: str | None = None, *, retries: int = 3) -> None:
        self.url = url.rstrip("/")
        self._retries = retries
        self._headers = {"User-Agent": "vedette-client"} | ({} if key is None else {"Authorization": f"Bearer {key}"})

    def __repr__(self) -> str:  # without the key
        return f"<{type(self).__name__} of {self.url}>"

    @staticmethod
    def _request(call: ClientRequest[T]) -> dict[str, Any]:
        return {"content": call.body, "headers": dict(call.headers), "params": dict(call.params) or None}

    @staticmethod
    def _answer(call: ClientRequest[T], answer: httpx.Response) -> T:
        if answer.is_success:
            return call.read(answer.content)
        raise _refused(answer)

    def _pause(self, tried: int, answer: httpx.Response | None) -> float | None:
        """Seconds to wait before the next try; None if there is no further one."""
        if tried >= self._retries or (answer is not None and answer.status_code not in _AGAIN):
            return None
        asked = "" if answer is None else answer.headers.get("retry-after", "")
        known = asked.isascii() and asked.isdigit()
        return min(_LONGEST_PAUSE, float(asked) if known else 0.2 * 2**tried * (0.5 + random.random()))

    def _breaks(self, error: Exception, tried: int, heard: bool) -> float:
        """Seconds before `listen` connects again; final errors, and errors of the first connection, are raised.

        After a first connection it retries without limit: services are restarted.
        """
        if isinstance(error, Refused) and error.status not in _AGAIN:
            raise error
        if not heard and tried >= self._retries:
            raise error if isinstance(error, Refused) else _unreachable(self.url, error) from error
        return float(min(_LONGEST_PAUSE, 0.2 * 2 ** min(tried, 8)))

    def _listening(self, last: str | None) -> dict[str, str]:
        return {} if last is None else {"Last-Event-ID": last}


def _waits(call: Callable[P, ClientRequest[T]]) -> Callable[Concatenate[Client, P], T]:
    @functools.wraps(call)
    def method(self: Client, /, *args: P.args, **options: P.kwargs) -> T:
        return self.send(call(*args, **options))

    return method


def _awaits(call: Callable[P, ClientRequest[T]]) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    @functools.wraps(call)
    def method(self: AsyncClient, /, *args: P.args, **options: P.kwargs) -> Awaitable[T]:
        return self.send(call(*args, **options))

    return method


class Client(_Client):
    """A client of the service: subscribe, publish, get notifications.

    >>> client = Client("http://127.0.0.1:8080", key="vk_…")            # doctest: +SKIP
    >>> mine = client.subscribe("price < 120")                          # doctest: +SKIP
    >>> client.publish({"price": 100})                                  # doctest: +SKIP
    >>> for notification in client.listen(mine["id"]): ...              # doctest: +SKIP
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8080", key: str | None = None, *, retries: int = 3, timeout: float = _TIMEOUT
    ) -> None:
        super().__init__(url, key, retries=retries)
        self._http = httpx.Client(base_url=self.url, headers=self._headers, timeout=timeout)

    subscribe = _waits(calls.subscribe)
    subscription = _waits(calls.subscription)
    subscriptions = _waits(calls.subscriptions)
    renew = _waits(calls.renew)
    replace = _waits(calls.replace)
    unsubscribe = _waits(calls.unsubscribe)
    try_out = _waits(calls.try_out)
    publish = _waits(calls.publish)
    rejected = _waits(calls.rejected)
    streams = _waits(calls.streams)
    grants = _waits(calls.grants)
    grant = _waits(calls.grant)
    revoke = _waits(calls.revoke)
    pull = _waits(calls.pull)
    acknowledge = _waits(calls.acknowledge)
    offer = _waits(calls.offer)
    offers = _waits(calls.offers)
    withdraw = _waits(calls.withdraw)
    dead_letters = _waits(calls.dead_letters)
    replay = _waits(calls.replay)

    def send(self, call: ClientRequest[T]) -> T:
        """Make a call, with retries if the service is busy or unreachable. Refused has the service's reason."""
        tried = 0
        while True:
            answer, problem = None, None
            try:
                answer = self._http.request(call.method, call.path, **self._request(call))
            except httpx.TransportError as error:
                problem = error
            pause = None if answer is not None and answer.is_success else self._pause(tried, answer)
            if pause is None:
                if answer is None:
                    raise _unreachable(self.url, problem) from problem
                return self._answer(call, answer)
            time.sleep(pause)
            tried += 1

    def listen(
        self, id: str, *, last: str | None = None, reconnect: bool = True, peek: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Yield notifications of a subscription as they come, after the one with the id `last`; reconnect after breaks.

        Notifications sent here count as delivered, even those in transit when you stop. With `peek` all stay pending
        until they are acknowledged (`acknowledge`).
        One with the kind `dropped` has the number dropped because nobody read them. Refused is raised when the
        subscription has ended, and when the first connection fails.
        """
        lines, tried, began = SseDecoder(), 0, False
        lines.last = last
        while True:
            pause = 0.2
            try:
                for heard in self._heard(id, lines, peek):
                    tried, began = 0, True
                    if heard is not None:
                        yield _told(heard)
            except (httpx.TransportError, Refused) as error:
                lines.broken()
                pause = self._breaks(error, tried if reconnect else self._retries, began and reconnect)
            if not reconnect:
                return
            time.sleep(pause)
            tried += 1

    def _heard(self, id: str, lines: SseDecoder, peek: bool) -> Iterator[ServerSentEvent | None]:
        """Read notifications; yields None first, as soon as the service has answered."""
        path, headers = calls.stream_of(id, peek=peek), self._listening(lines.last)
        with self._http.stream("GET", path, headers=headers, timeout=httpx.Timeout(_TIMEOUT, read=60.0)) as answer:
            if not answer.is_success:
                answer.read()
                raise _refused(answer)
            yield None
            for line in answer.iter_lines():
                heard = lines.take(line)
                if heard is not None:
                    yield heard

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class AsyncClient(_Client):
    """The same for asyncio: every method is awaited, `listen` is an async iterator."""

    def __init__(
        self, url: str = "http://127.0.0.1:8080", key: str | None = None, *, retries: int = 3, timeout: float = _TIMEOUT
    ) -> None:
        super().__init__(url, key, retries=retries)
        self._http = httpx.AsyncClient(base_url=self.url, headers=self._headers, timeout=timeout)

    subscribe = _awaits(calls.subscribe)
    subscription = _awaits(calls.subscription)
    subscriptions = _awaits(calls.subscriptions)
    renew = _awaits(calls.renew)
    replace = _awaits(calls.replace)
    unsubscribe = _awaits(calls.unsubscribe)
    try_out = _awaits(calls.try_out)
    publish = _awaits(calls.publish)
    rejected = _awaits(calls.rejected)
    streams = _awaits(calls.streams)
    grants = _awaits(calls.grants)
    grant = _awaits(calls.grant)
    revoke = _awaits(calls.revoke)
    pull = _awaits(calls.pull)
    acknowledge = _awaits(calls.acknowledge)
    offer = _awaits(calls.offer)
    offers = _awaits(calls.offers)
    withdraw = _awaits(calls.withdraw)
    dead_letters = _awaits(calls.dead_letters)
    replay = _awaits(calls.replay)

    async def send(self, call: ClientRequest[T]) -> T:
        """Make a call, with retries if the service is busy or unreachable. Refused has the service's reason."""
        tried = 0
        while True:
            answer, problem = None, None
            try:
                answer = await self._http.request(call.method, call.path, **self._request(call))
            except httpx.TransportError as error:
                problem = error
            pause = None if answer is not None and answer.is_success else self._pause(tried, answer)
            if pause is None:
                if answer is None:
                    raise _unreachable(self.url, problem) from problem
                return self._answer(call, answer)
            await asyncio.sleep(pause)
            tried += 1

    async def listen(
        self, id: str, *, last: str | None = None, reconnect: bool = True, peek: bool = False
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield notifications of a subscription as they come; see `Client.listen`."""
        lines, tried, began = SseDecoder(), 0, False
        lines.last = last
        while True:
            pause = 0.2
            try:
                async for heard in self._heard(id, lines, peek):
                    tried, began = 0, True
                    if heard is not None:
                        yield _told(heard)
            except (httpx.TransportError, Refused) as error:
                lines.broken()
                pause = self._breaks(error, tried if reconnect else self._retries, began and reconnect)
            if not reconnect:
                return
            await asyncio.sleep(pause)
            tried += 1

    async def _heard(self, id: str, lines: SseDecoder, peek: bool) -> AsyncIterator[ServerSentEvent | None]:
        """Read notifications; yields None first, as soon as the service has answered."""
        path, headers = calls.stream_of(id, peek=peek), self._listening(lines.last)
        timeout = httpx.Timeout(_TIMEOUT, read=60.0)
        async with self._http.stream("GET", path, headers=headers, timeout=timeout) as answer:
            if not answer.is_success:
                await answer.aread()
                raise _refused(answer)
            yield None
            async for line in answer.aiter_lines():
                heard = lines.take(line)
                if heard is not None:
                    yield heard

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()


def _told(heard: ServerSentEvent) -> dict[str, Any]:
    return heard.data | ({"kind": "dropped"} if heard.kind == "dropped" else {})


def _refused(answer: httpx.Response) -> Refused:
    try:
        said = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        said = {}
    detail = said.get("detail") if isinstance(said, dict) else None
    hint = said.get("hint") if isinstance(said, dict) else None
    message = f"{detail or answer.reason_phrase}" + (f"\nHint: {hint}" if hint else "")
    kind = str(said.get("type", "")).rpartition(":")[2] if isinstance(said, dict) else ""
    return Refused(message, status=answer.status_code, kind=kind)


def _unreachable(url: str, problem: Exception | None) -> Refused:
    return Refused(
        f"{url} cannot be reached: {problem}\nHint: is the service running there?", status=0, kind="unreachable"
    )
