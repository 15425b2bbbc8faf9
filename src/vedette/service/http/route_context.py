"""What all routes need: the service, the guards, the hub; and how they read bodies and run computations."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeVar

import orjson
from fastapi import Depends, Header, Security
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request

from vedette.errors import InputError
from vedette.io.jsonl_events import json_error
from vedette.service.delivery.hub import Hub
from vedette.service.errors import TooLarge
from vedette.service.http.guards import Guards
from vedette.service.incoming_events import is_nested_deeper
from vedette.service.service import Service
from vedette.service.tenants import Tenant

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Context:
    """The service, the guards and the hub of one application."""

    service: Service
    guards: Guards
    hub: Hub


def context_of(connection: HTTPConnection) -> Context:
    """The context of the application that a request came to."""
    context: Context = connection.app.state.context
    return context


async def _here(connection: HTTPConnection) -> Context:
    """The same for routes; async, since FastAPI would run a plain function in a thread for every request."""
    return context_of(connection)


# For OpenAPI alone: keys are looked at by the guards.
_KEY = HTTPBearer(auto_error=False, scheme_name="key", description="A tenant's key: vk_…")
_ADMIN_KEY = HTTPBearer(auto_error=False, scheme_name="admin_key", description="The key of whoever runs the service")


async def _tenant(request: Request, _: Annotated[object, Security(_KEY)]) -> Tenant:
    return await context_of(request).guards.tenant(request)


async def _owner(
    request: Request, _: Annotated[object, Security(_KEY)], __: Annotated[object, Security(_ADMIN_KEY)]
) -> Tenant | None:
    return await context_of(request).guards.owner(request)


async def _admin(request: Request, _: Annotated[object, Security(_ADMIN_KEY)]) -> None:
    context_of(request).guards.admin(request)


CurrentContext = Annotated[Context, Depends(_here)]
CurrentTenant = Annotated[Tenant, Depends(_tenant)]
TenantOrAdmin = Annotated[Tenant | None, Depends(_owner)]  # None: whoever runs the service
Admin = Depends(_admin)
Ticket = Annotated[str | None, Header(alias="Vedette-Ticket", max_length=200)]


async def computed(here: Context, tenant: Tenant, task: str, stream: str, **given: Any) -> Any:
    """Result of a tenant's task, run in a process that is stopped if it takes too long."""
    grounds = here.service.registry.grounds(stream)
    asking = partial(here.service.computations.submit, tenant.name, task, stream, grounds, **given)
    return await asyncio.wrap_future(await run_in_threadpool(asking) if "samples" in given else asking())


async def request_body(request: Request, model: type[M]) -> M:
    """The body of a request as a model; InputError says what is wrong with it.

    FastAPI would read it by a parser that recurses; this one refuses what is nested too deeply.
    """
    body = await request.body()
    try:
        found: Any = orjson.loads(body) if body.strip() else {}
    except orjson.JSONDecodeError as error:
        raise InputError(f"the body is {json_error(error)}\nHint: send a JSON object") from None
    most = context_of(request).service.settings.limits.depth
    if isinstance(found, dict | list) and is_nested_deeper(found, most):
        raise TooLarge(f"the body is nested more than {most} levels deep\nHint: make it flatter")
    try:
        return model.model_validate(found)
    except ValidationError as error:
        wrong = [
            f"{'.'.join(map(str, mistake['loc'])) or 'the body'}: {mistake['msg']}"
            for mistake in error.errors(include_input=False, include_url=False)
        ]
        raise InputError("; ".join(wrong[:10])) from None


def takes(model: type[BaseModel]) -> dict[str, Any]:
    """The request body for OpenAPI, of a route that reads it by `request_body`."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    below = schema.pop("$defs", {})
    inlined = _inlined(schema, below)
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": inlined}}}}


def _inlined(part: Any, below: dict[str, Any]) -> Any:
    """A schema with its references replaced by the parts that they refer to."""
    if isinstance(part, dict):
        reference = part.get("$ref")
        if isinstance(reference, str) and reference.rpartition("/")[2] in below:
            return _inlined(below[reference.rpartition("/")[2]], below)
        return {name: _inlined(value, below) for name, value in part.items() if name != "discriminator"}
    return [_inlined(each, below) for each in part] if isinstance(part, list) else part
