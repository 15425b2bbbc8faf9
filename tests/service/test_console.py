"""The pages of the console over HTTP: what is sent, and with which headers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.service.running import Running, over_http, settings_in
from vedette.console import pages


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with over_http(settings_in(tmp_path_factory.mktemp("pages"), server={"console": True})) as running:
        yield running


def test_whoever_opens_the_service_is_led_to_the_console(served: Running) -> None:
    for path in ("/", "/console"):
        answer = served.http.get(path)
        assert (answer.status_code, answer.headers["location"]) == (307, "/console/")
    assert "<title>Vedette</title>" in served.http.get("/console/").text


def test_every_page_says_what_may_run_in_it(served: Running) -> None:
    for name, (body, media) in pages().items():
        folder = "docs" if name.startswith("docs.") else "console"
        answer = served.http.get(f"/{folder}/{name}")
        assert (answer.status_code, answer.content) == (200, body)
        assert answer.headers["content-type"] == media
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        again = served.http.get(f"/{folder}/{name}", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "name", ["none.js", "../__init__.py", "%2e%2e/app.py", "__init__.py", "..%2f..%2fpyproject.toml"]
)
def test_nothing_else_is_sent(served: Running, name: str) -> None:
    assert served.http.get(f"/console/{name}").status_code == 404


def test_pages_fetch_nothing_from_elsewhere_and_make_no_html_of_texts() -> None:
    for name, (body, _) in pages().items():
        text = body.decode()
        assert set(re.findall(r"https?://[^\s\"'`)]+", text)) <= {"http://www.w3.org/2000/svg"}, name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", text), name
        assert not re.search(r"<[a-z][^>]*\sstyle=|\son[a-z]+=\"", text), name


def test_every_module_that_is_imported_is_there() -> None:
    there = pages()
    for name, (body, _) in there.items():
        for wanted in re.findall(r'from "\./([^"]+)"|(?:src|href)="([a-z]+\.(?:js|css|svg))"', body.decode()):
            assert (wanted[0] or wanted[1]) in there, name


def test_it_can_be_left_out(running: Running) -> None:
    assert running.http.get("/console/").status_code == 404
    assert running.http.get("/docs/main.js").status_code == 404
    # What tells of the API is there all the same.
    answer = running.http.get("/", follow_redirects=True)
    assert (answer.status_code, answer.url.path) == (200, "/docs/")
    for name in set(re.findall(r'(?:src|href)="([a-z]+\.(?:js|css|svg))"', answer.text)) | {"dom.js"}:
        assert running.http.get(f"/docs/{name}").status_code == 200, name
