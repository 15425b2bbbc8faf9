"""Every endpoint that OpenAPI tells of, with requests that Schemathesis makes of what it tells."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.service.running import ADMIN, Running, over_http, settings_in
from tests.service.test_malformed import works

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = int(os.environ.get("EXAMPLES", "6"))


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service that does not count requests."""
    limits: dict[str, Any] = {"requests": 1e9, "burst": 10**9, "anonymous_requests": 1e9}
    with over_http(settings_in(tmp_path_factory.mktemp("schemathesis"), limits=limits)) as running:
        yield running


def cases(running: Running, mode: GenerationMode) -> Iterator[tuple[str, st.SearchStrategy[Case[Any]]]]:
    """Every endpoint, and requests for it."""
    schema = schemathesis.openapi.from_dict(running.http.get("/openapi.json").json())
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        yield operation.label, operation.as_strategy(generation_mode=mode)


def tried(running: Running, label: str, strategy: st.SearchStrategy[Case[Any]], examples: int) -> None:
    admin = "/tenants" in label or label.startswith("PUT /v1/streams")
    key = ADMIN if admin else running.key

    @settings(
        max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(case=strategy)
    def one(case: Case[Any]) -> None:
        if isinstance(case.query, dict):
            case.query.pop("wait", None)  # nobody waits here
        sent = case.as_transport_kwargs(base_url=running.url, headers={"Authorization": f"Bearer {key}"})
        with requests.request(**sent, timeout=60, stream=True) as answer:
            media = answer.headers.get("content-type", "")
            if media.startswith("text/event-stream"):  # which goes on and on
                assert answer.status_code == 200
                return
            case.validate_response(answer, checks=CHECKS)
            assert answer.status_code < 400 or media == "application/problem+json"

    one()


@pytest.mark.long
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("examples", [EXAMPLES, pytest.param(30, marks=pytest.mark.thorough)])
def test_every_endpoint(roomy: Running, mode: GenerationMode, examples: int) -> None:
    done, nothing_wrong = 0, []
    for label, strategy in cases(roomy, mode):
        try:
            tried(roomy, label, strategy, examples)
            done += 1
        except Unsatisfiable:  # whatever stands in its path is right
            nothing_wrong.append(label)
        except Exception as error:
            error.add_note(f"at {label}")
            raise
    assert done >= 15
    assert not nothing_wrong or mode is GenerationMode.NEGATIVE
    works(roomy)
