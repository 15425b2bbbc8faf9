"""A client of the service, for Python: `vedette.Client`, and `vedette.AsyncClient` for asyncio."""

from __future__ import annotations

from vedette.client.client import AsyncClient, Client

__all__ = ["AsyncClient", "Client"]
