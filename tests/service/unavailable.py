"""Every route of a service, asked while its database is away."""

from __future__ import annotations

from typing import Any, Final

import httpx

from tests.service.running import ADMIN, Running

_BODIES: Final[dict[str, Any]] = {
    "/v1/subscriptions": {"when": "x = 1"},
    "/v1/subscriptions/{id}": {"when": "x = 1"},
    "/v1/subscriptions:test": {"when": "x = 1"},
    "/v1/filters:parse": {"when": "x = 1"},
    "/v1/subscriptions/{id}/notifications:ack": {"ids": ["n_1"]},
    "/v1/offers": {"when": "x = 1"},
    "/v1/tenants": {"name": "other"},
}
_METHODS: Final = ("get", "put", "post", "delete")


def every_route(running: Running) -> list[httpx.Response]:
    """The answers of all routes that there are."""
    paths = running.http.get("/openapi.json").json()["paths"]
    found = [running.http.get(path) for path in ("/metrics", "/readyz")]
    for path, offered in paths.items():
        for method in offered:
            if method not in _METHODS:
                continue
            key = ADMIN if {"admin_key": []} in offered[method].get("security", ()) else running.key
            where = path.replace("{stream}", "default").replace("{name}", "acme").replace("{id}", "s_1")
            headers = {"Authorization": f"Bearer {key}", "Vedette-Ticket": "vt_1"}
            body = {} if method in ("get", "delete") else {"json": _BODIES.get(path, {})}
            if where.endswith("/live"):  # which goes on and on, whatever the database does
                continue
            found.append(running.http.request(method.upper(), where, headers=headers, **body))
    return found
