"""Services to try things on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.running import Running, over_http, settings_in
from vedette.service.service import Service
from vedette.service.tenants import Tenant


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A service without HTTP."""
    with Service(settings_in(tmp_path)) as service:
        yield service


@pytest.fixture
def tenant(service: Service) -> Tenant:
    return service.tenants.add("acme")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service over HTTP, one for all tests of a module."""
    with over_http(settings_in(tmp_path_factory.mktemp("service"))) as running:
        yield running
