"""A broker in a process of its own: commands as JSON lines on its input, answers and notifications on its output.

python -m tests.overlay.broker_process NAME LINK,LINK,… SERVER
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from tests.overlay.grid_cover import SCHEMA
from vedette.overlay.broker import Broker, BrokerNotification
from vedette.overlay.forwarding import ExactCover
from vedette.overlay.nats_links import NatsLinks
from vedette.overlay.node import BrokerNode


def say(**fields: Any) -> None:
    """One line for the test."""
    print(json.dumps(fields), flush=True)


def notify(notification: BrokerNotification) -> None:
    say(told=notification.subscription, event=notification.event)


def obey(node: BrokerNode, command: dict[str, Any]) -> None:
    """Do what a line says."""
    match command.pop("do"):
        case "subscribe":
            node.subscribe(**command)
        case "cancel":
            node.cancel(**command)
        case "publish":
            node.publish(**command)
        case "look":
            broker = node.broker
            say(received={link: sorted(key.id for key in broker.received(link)) for link in sorted(broker.tree)})


async def main(name: str, links: str, server: str) -> None:
    broker = Broker(name, [link for link in links.split(",") if link], ExactCover, schema=SCHEMA)
    # Silence is not what these tests are about, and a busy machine may be silent for long.
    async with NatsLinks(broker, notify, server, sign_of_life=0.1, silence=60) as node:
        say(ready=name)
        while line := await asyncio.to_thread(sys.stdin.readline):
            obey(node, json.loads(line))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
