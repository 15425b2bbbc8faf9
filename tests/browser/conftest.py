"""One browser and one service for all tests of the console; skipped by name where there is no browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.service.running import Running, over_http, settings_in

QUIETLY = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
PATHS = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")


def chromium() -> str | None:
    """The system's Chromium."""
    given = os.environ.get("CHROMIUM")
    found = [given] if given else [*PATHS, shutil.which("chromium") or ""]
    return next((path for path in found if path and os.path.exists(path)), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = chromium()
    if path is None:
        pytest.skip("there is no Chromium on this machine (CHROMIUM says where one is)")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=path, args=list(QUIETLY))
        yield running
        running.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service with the console, whose webhooks give up at once."""
    settings = settings_in(tmp_path_factory.mktemp("console"), server={"console": True}, webhooks={"schedule": (0.01,)})
    with over_http(settings) as running:
        yield running


class Screen:
    """A page of the console, and everything that went wrong on it."""

    def __init__(self, page: Any, served: Running) -> None:
        self.page, self.served = page, served
        self.wrong: list[str] = []
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda said: self.wrong.append(said.text) if said.type == "error" else None)

    def enter(self) -> Any:
        """Sign in with the key of the tenant."""
        self.page.goto(self.served.url + "/")
        self.page.fill("#key", self.served.key)
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector(".pulse.on")
        return self.page

    def go(self, where: str) -> Any:
        self.page.goto(f"{self.served.url}/console/#/{where}")
        self.page.wait_for_selector(f"nav a[aria-current][href='#/{where.partition('/')[0]}']")  # not the page before
        return self.page


@pytest.fixture
def screen(browser: Any, served: Running) -> Iterator[Callable[..., Screen]]:
    """Makes pages of any size; none of them may have logged an error."""
    made: list[tuple[Screen, Any]] = []

    def make(width: int = 1280, height: int = 800, **more: Any) -> Screen:
        context = browser.new_context(viewport={"width": width, "height": height}, **more)
        made.append((Screen(context.new_page(), served), context))
        return made[-1][0]

    yield make
    for one, context in made:
        context.close()
        assert one.wrong == []
