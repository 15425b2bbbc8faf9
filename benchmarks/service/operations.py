"""All that changes a service, each as something to do again and again: what it needs, and how it is done."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
import sqlalchemy as sa

from vedette.service.clock import SECOND
from vedette.service.errors import ServiceError
from vedette.service.incoming_events import EventLimits, read
from vedette.service.service import Service
from vedette.service.storage.tables import DEAD, dead_letters, notifications
from vedette.service.subscription_registry import NewSubscription, SubscriptionRequest
from vedette.service.tenants import Tenant, key_id

_MEASURES: Final = EventLimits(event_bytes=1 << 18, batch_events=1_000, depth=32)
_WHEN: Final = "x >= 0"  # every event, every want and every offer says so


class Unkept(Service):
    """A service that does nothing by the clock: what is over ends when somebody says so."""

    def _keep(self) -> None:
        return


@dataclass
class World:
    """A service, somebody who uses it, and its clock."""

    service: Service
    tenant: Tenant
    moment: list[int]
    names: Any = field(default_factory=itertools.count)

    def name(self) -> str:
        """One that is not taken."""
        return f"n{next(self.names)}"

    def ready(self) -> None:
        """Wait until it matches: its loops may have to be compiled."""
        self._until(lambda: self.service.pump.warm, 600.0)

    def matched(self) -> None:
        """Wait until all that was accepted is matched."""
        self._until(lambda: self.service.pump.behind <= 0)

    def rest(self) -> None:
        """Wait until nothing goes on, and what was owed is told."""
        service = self.service
        service.store.settle()
        service.store.write(lambda _: None)
        while service.market.behind:
            service.market.settle()
            time.sleep(0.001)
        self.matched()
        self._until(lambda: not any(lane.changes for lane in service.pump.lanes()))
        service.pump.look("default", len).result(60)  # the last of them is carried out, too

    def _until(self, done: Callable[[], bool], seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while not done():
            if self.service.pump.failure is not None or time.monotonic() > end:
                raise RuntimeError(f"matching does not get on: {self.service.pump.failure}")
            time.sleep(0.002)

    def clear(self) -> None:
        """Let all that stands run out."""
        self.moment[0] += int(2 * self.service.settings.limits.validity * SECOND)
        self.service.registry.expire()
        self.service.market.expire()
        self.service.tidy()

    def subscribe(self, **more: Any) -> NewSubscription:
        return self.service.registry.subscribe(self.tenant, SubscriptionRequest(more.pop("when", _WHEN), **more))

    def offer(self, **more: Any) -> tuple[Any, str]:
        return self.service.market.offer(self.tenant, "default", _WHEN, **more)

    def publish(self, *ids: str) -> None:
        body = orjson.dumps([{"id": id_, "x": 1} for id_ in ids])
        self.service.journal.publish("default", read(body, "application/json", {}, _MEASURES)).result(60)


Doing = Callable[[], object]


def _subscribe(world: World) -> Doing:
    return world.subscribe


def _subscribe_pattern(world: World) -> Doing:
    return lambda: world.subscribe(when="[x = 2] ; [x = 3]")


def _want(world: World) -> Doing:
    return lambda: world.subscribe(want=True)


def _renew(world: World) -> Doing:
    made = world.subscribe()
    return lambda: world.service.registry.renew(world.tenant, made.subscription.id, made.ticket)


def _replace(world: World, *, want: bool = False) -> Doing:
    made = world.subscribe(want=want)
    wanted = SubscriptionRequest("x > 0", want=want)
    return lambda: world.service.registry.replace(world.tenant, made.subscription.id, made.ticket, wanted)


def _replace_want(world: World) -> Doing:
    return _replace(world, want=True)


def _unsubscribe(world: World, *, want: bool = False) -> Doing:
    made = world.subscribe(want=want)
    return lambda: world.service.registry.unsubscribe(world.tenant, made.subscription.id, made.ticket)


def _unsubscribe_want(world: World) -> Doing:
    return _unsubscribe(world, want=True)


def _end(world: World) -> Doing:
    made = world.subscribe()
    return lambda: world.service.registry.end(made.subscription.id)


def _offer(world: World) -> Doing:
    return world.offer


def _withdraw(world: World) -> Doing:
    offer, ticket = world.offer()
    return lambda: world.service.market.withdraw(world.tenant, offer.id, ticket)


def _expire_subscriptions(world: World) -> Doing:
    world.subscribe(validity=1)
    world.subscribe(validity=1, want=True)
    world.moment[0] += 2 * SECOND
    return world.service.registry.expire


def _expire_offers(world: World) -> Doing:
    world.offer(validity=1)
    world.moment[0] += 2 * SECOND
    return world.service.market.expire


def _publish(world: World) -> Doing:
    ids = world.name(), world.name()
    return lambda: world.publish(*ids)


def _told(world: World) -> tuple[NewSubscription, list[Any]]:
    """A subscription that was told of an event."""
    made = world.subscribe()
    world.publish(world.name())
    while not (found := world.service.outbox.pending(made.subscription.number, 0, 10)):
        pass
    return made, found


def _acknowledge(world: World) -> Doing:
    made, found = _told(world)
    number, ids = made.subscription.number, [one.id for one in found]
    return lambda: world.service.store.write(lambda c: world.service.outbox.acknowledge(c, number, ids))


def _replay(world: World) -> Doing:
    _, (one, *_) = _told(world)
    world.service.store.write(lambda c: world.service.outbox.bury(c, one, world.tenant.name, 1, "gone"))
    return lambda: world.service.outbox.replay(world.tenant.name)


def _forget(world: World) -> Doing:
    made, _ = _told(world)
    registry = world.service.registry
    registry.unsubscribe(world.tenant, made.subscription.id, made.ticket)
    return lambda: (world.service.outbox.forget(world.moment[0] + SECOND), world.service.outbox.forget_gone())


def _new_tenant(world: World) -> Doing:
    name = world.name()
    return lambda: world.service.tenants.add_with_key(name)


def _new_key(world: World) -> Doing:
    return lambda: world.service.tenants.new_key(world.tenant.name)


def _revoke(world: World) -> Doing:
    id_ = key_id(world.service.tenants.new_key(world.tenant.name))
    return lambda: world.service.tenants.revoke(world.tenant.name, id_)


def _new_stream(world: World) -> Doing:
    name = world.name()
    return lambda: world.service.add_stream(name, schema={"x": "int"}, anonymous=False, lateness=0)


def _grant(world: World) -> Doing:
    name = world.name()
    world.service.add_stream(name, schema=None, anonymous=False, lateness=0)
    return lambda: world.service.rights.grant(name, world.tenant.name, ["publish", "read"])


def _change_stream(world: World) -> Doing:
    name = world.name()
    world.service.add_stream(name, schema=None, anonymous=False, lateness=0)
    return lambda: world.service.add_stream(name, schema=None, anonymous=True, lateness=0)


OPERATIONS: Final[dict[str, Callable[[World], Doing]]] = {
    name.strip("_").replace("_", " "): function
    for name, function in list(globals().items())
    if name.startswith("_") and getattr(function, "__annotations__", {}).get("return") == "Doing"
}


def outcome(doing: Doing) -> ServiceError | None:
    """Do something; how the service refused it."""
    try:
        doing()
    except ServiceError as error:
        return error
    return None


def letters(world: World) -> bool:
    """Whether all that is dead can be looked at, and nothing else."""
    dead = sa.select(notifications.c.number).where(notifications.c.state == DEAD)
    kept = sa.select(dead_letters.c.notification)
    return world.service.store.read(lambda c: set(c.execute(dead).scalars()) == set(c.execute(kept).scalars()))
