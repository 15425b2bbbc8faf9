"""Whatever the language can say, the routes that look at it answer: no test of it is one that JSON cannot tell."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import pytest

from tests.language.cases import pairs
from tests.language.test_specification import VALID
from tests.service.running import Running, over_http, settings_in
from tests.strategies import expressions
from vedette.language import ast
from vedette.language.render import render
from vedette.service.parse_report import parse_report
from vedette.service.service import Service

TEXTS = sorted({*VALID, *(text for name in ("filters.txt", "patterns.txt") for text, _ in pairs(name))})


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    limits = {"requests": 1e9, "burst": 10**9}
    with over_http(settings_in(tmp_path_factory.mktemp("service"), limits=limits)) as running:
        yield running


def test_every_text_of_the_specification(running: Running) -> None:
    assert len(TEXTS) > 200
    ids = []
    for place, text in enumerate(TEXTS):
        answer = running.call("POST", "/v1/filters:parse", json={"when": text})
        assert answer.status_code == 200, (text, answer.text)
        if answer.json()["valid"] and (place % 8 == 0 or "any(" in text):
            answer = running.call("POST", "/v1/subscriptions", json={"when": text})
            assert answer.status_code < 500, (text, answer.text)
            ids += [answer.json()["id"]] if answer.is_success else []
    assert len(ids) > 20
    assert running.call("GET", "/v1/covering", params={"limit": 1000}).status_code == 200
    for id_ in ids:
        for what in ("covering?limit=5", "machine"):
            answer = running.call("GET", f"/v1/subscriptions/{id_}/{what}")
            assert answer.status_code < 500, (id_, what, answer.text)


@pytest.mark.parametrize(
    "test", ["in cidr '10.0.0.0/8'", "> ip '10.0.0.1'", "<= ip '255.255.255.255'", "in (ip '::', ip '1.2.3.4')"]
)
@pytest.mark.parametrize("said", ["a {}", "not a {}", "any(a) {}", "[a {}] , [b = 1]"])
def test_addresses(running: Running, test: str, said: str) -> None:
    text = said.format(test)
    answer = running.call("POST", "/v1/filters:parse", json={"when": text})
    assert answer.status_code == 200, (text, answer.text)
    body = {"when": text, "events": [{"a": "10.1.2.3"}, {"a": "nonsense"}, {}]}
    assert running.call("POST", "/v1/subscriptions:test", json=body).status_code < 500


@hypothesis.settings(max_examples=30, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture])
@hypothesis.given(expressions())
def test_any_expression(service: Service, expression: ast.Filter) -> None:
    parse_report(service.registry.grounds("default"), render(expression)).model_dump_json()
