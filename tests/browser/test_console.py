"""The console in a real browser: all of its pages, hostile events, narrow screens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from tests.browser.conftest import Screen
from tests.service.running import ADMIN, Running

Make = Callable[..., Screen]
HOSTILE = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>\'"&amp;'
PAGES = ("live", "subscriptions", "playground", "patterns", "covering", "dead-letters", "set-aside")


def overflow(page: Any) -> int:
    """By how many pixels a page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


def test_a_wrong_key_is_told_and_a_right_one_stays_in_the_tab(screen: Make, served: Running) -> None:
    one = screen()
    page = one.page
    page.goto(served.url + "/")
    page.fill("#key", "vk_wrong")
    page.click("text=Open the console")
    page.wait_for_selector("text=This key opens nothing")
    one.wrong.clear()  # the browser logs that a request was answered with 401
    page.fill("#key", served.key)
    page.keyboard.press("Enter")
    page.wait_for_selector(".pulse.on")
    assert served.key not in page.url
    assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
    page.reload()
    page.wait_for_selector(".pulse.on")
    page.click("text=Sign out")
    page.wait_for_selector("#key")
    assert page.evaluate("sessionStorage.getItem('vedette.key')") is None


def test_pages_say_what_they_are_for_while_there_is_nothing(screen: Make, served: Running) -> None:
    one = screen()
    key = served.new_key("nobody")
    one.page.goto(served.url + "/")
    one.page.fill("#key", key)
    one.page.keyboard.press("Enter")
    one.page.wait_for_selector(".pulse.on")
    for name in ("subscriptions", "patterns", "covering", "dead-letters", "set-aside"):
        one.go(name).wait_for_selector(".empty h2")


def test_live_events_show_who_was_told(screen: Make, served: Running) -> None:
    page = screen().enter()
    served.subscribe("browser = 1", subscriber="the watcher")
    served.publish({"id": "seen", "browser": 1}, {"id": "unseen", "browser": 2})
    page.wait_for_selector("tr.told:has-text('seen')")
    page.wait_for_selector("tr:has-text('unseen') >> text=–")
    page.click("text=Pause")
    served.publish({"id": "later", "browser": 1})
    page.wait_for_selector(".tile:has-text('Told to you') strong:text-is('2')")
    assert page.locator("tr:has-text('later')").count() == 0
    page.click("text=Go on")
    page.wait_for_selector("tr:has-text('later')")


def test_hostile_texts_stay_texts(screen: Make, served: Running) -> None:
    one = screen()
    page = one.enter()
    made = served.subscribe(f"hostile = '{HOSTILE.replace(chr(39), chr(39) * 2)}'", subscriber=HOSTILE)
    served.publish({"id": HOSTILE, "hostile": HOSTILE, HOSTILE: [HOSTILE]})
    page.wait_for_selector("tr.told:has-text('onerror')")
    page.locator("tr.told summary").first.click()
    for where in ("subscriptions", f"subscriptions/{made['id']}", "covering", f"covering/{made['id']}", "playground"):
        one.go(where).wait_for_selector("main h1")
    page.fill("#when", f"hostile = '{HOSTILE.replace(chr(39), chr(39) * 2)}' and")
    page.fill("#events", orjson.dumps({"id": HOSTILE, "hostile": HOSTILE}).decode())
    page.wait_for_selector(".note.bad")
    page.fill("#when", f"hostile = '{HOSTILE.replace(chr(39), chr(39) * 2)}'")
    page.wait_for_selector(".trial .chip.good")
    assert page.evaluate("window.hurt") is None
    assert page.locator("main script, main img").count() == 0


def test_nothing_of_others_may_run_in_the_pages(screen: Make, served: Running) -> None:
    one = screen()
    page = one.enter()
    refused = page.evaluate(
        """() => { try { document.body.innerHTML = '<b>x</b>'; return 'written'; } catch (e) { return e.name; } }"""
    )
    assert refused == "TypeError"
    page.evaluate(
        "const s = document.createElement('style'); s.textContent = 'main{display:none}'; document.body.append(s)"
    )
    assert page.is_visible("main")
    assert one.wrong  # which the browser says, too
    one.wrong.clear()


def test_subscriptions_with_their_figures(screen: Make, served: Running) -> None:
    one = screen()
    one.enter()
    made = served.subscribe("figure < 5", subscriber="one half")
    served.publish(*({"figure": number} for number in range(10)))
    page = one.go("subscriptions")
    row = page.locator("tr:has-text('one half')")
    row.wait_for()
    page.wait_for_selector("tr:has-text('one half') >> text=50 %")
    page.fill("input[type=search]", "no such")
    page.wait_for_selector("text=None says")
    page.fill("input[type=search]", "one half")
    row.locator("a").click()
    page.wait_for_selector("h1:has-text('one half')")
    page.wait_for_selector("dt:has-text('Told in all') + dd:text-is('5')")
    assert page.url.endswith(made["id"])


def test_the_playground_parses_tries_and_shares(screen: Make, served: Running) -> None:
    one = screen(permissions=["clipboard-read", "clipboard-write"])
    one.enter()
    page = one.go("playground")
    page.wait_for_selector(".chip.good")
    page.fill("#when", "kind = 'größe 🦊' and << 3")
    page.wait_for_selector(".note.bad:has-text('Line 1, column')")
    assert page.locator(".shadow .error").inner_text().startswith("<")  # though 🦊 is two units of JavaScript
    page.fill("#when", "price < 120 and (kind = 'a' or kind = 'b')")
    page.fill("#events", '{"id": "yes", "price": 1, "kind": "a"}\n{"id": "no", "price": 200, "kind": "a"}')
    page.wait_for_selector(".trial:has-text('yes') .chip:has-text('matches')")
    page.wait_for_selector(".trial:has-text('no') .why:has-text('price was 200')")
    page.wait_for_selector(".lines:has-text('kind in')")
    page.click("#share")
    page.wait_for_selector(".said.shown")
    link = page.evaluate("navigator.clipboard.readText()")
    assert "#/playground/" in link
    assert "price" not in link.partition("#")[0]
    other = screen()
    other.enter()
    asked: list[str] = []
    other.page.on("request", lambda request: asked.append(request.url))
    other.page.goto(link)
    other.page.wait_for_selector(".trial:has-text('yes') .chip:has-text('matches')")
    assert other.page.input_value("#when").startswith("price < 120")
    assert not [url for url in asked if link.rpartition("/")[2] in url.partition("#")[0]]
    other.page.fill("#events", "{not json")
    other.page.wait_for_selector("text=Line 1 is no JSON")
    other.go("playground/broken~link").wait_for_selector("text=This link is broken")
    other.page.fill("#when", "a:[x = 1] ; b:[x = 2]")
    other.page.wait_for_selector(".machine svg")
    other.page.fill("input[placeholder='who is told']", "from the playground")
    other.page.click("button:has-text('Subscribe')")
    other.page.wait_for_selector("pre:has-text('vt_')")


def test_patterns_stand_where_events_have_brought_them(screen: Make, served: Running) -> None:
    made = served.subscribe(
        "a:[pat = 1] ; b:[pat = 2] by who", subscriber="foreseen", predict={"within": 3, "threshold": 0.2}
    )
    plain = served.subscribe("[pat = 8] ; [pat = 9]", subscriber="plain")
    served.publish(*({"pat": number % 3, "who": "ann"} for number in range(200)))
    one = screen()
    one.enter()
    page = one.go(f"patterns/{made['id']}")
    page.wait_for_selector(".state .share:has-text('%')")
    served.publish({"pat": 1, "who": "new"}, {"pat": 1, "who": "newer"})
    page.wait_for_selector(".state text.here")
    one.go(f"patterns/{plain['id']}").wait_for_selector("text=No forecasts")


def test_covering_is_drawn(screen: Make, served: Running) -> None:
    made = served.subscribe("w in [10 .. 20] and v < 5", subscriber="inner box")
    served.subscribe("w in [0 .. 30] and v < 9", subscriber="outer box")
    one = screen()
    one.enter()
    page = one.go(f"covering/{made['id']}")
    page.wait_for_selector(".box:has-text('outer box') .inside:has-text('inner box')")
    page.wait_for_selector(".plane .shape.covers")
    page.wait_for_selector(".stays p:has-text('one other covers it: outer box')")  # its name, once it is known


def test_the_api_is_told_and_nothing_is_fetched_from_elsewhere(screen: Make, served: Running) -> None:
    page = screen().page
    elsewhere: list[str] = []
    page.on("request", lambda asked: None if asked.url.startswith(served.url) else elsewhere.append(asked.url))
    page.goto(f"{served.url}/docs")
    page.wait_for_selector("article.request")
    paths = served.http.get("/openapi.json").json()["paths"]
    assert page.locator("article.request").count() == sum(map(len, paths.values()))
    subscribe = page.locator("article.request", has=page.locator("h3", has_text="POST/v1/subscriptions")).first
    assert "Authorization: Bearer $VEDETTE_KEY" in subscribe.locator("pre.copy").inner_text()
    assert subscribe.locator(".needed").first.inner_text() == "needed"
    assert elsewhere == []


def test_dead_letters_are_replayed(screen: Make, served: Running) -> None:
    served.subscribe("die = 1", subscriber="dead end", delivery={"type": "webhook", "url": "http://127.0.0.1:9/x"})
    served.publish({"id": "letter", "die": 1})
    one = screen()
    one.enter()
    page = one.go("dead-letters")
    page.wait_for_selector("tr:has-text('dead end'):has-text('letter')")
    page.click("text=Replay all")
    page.wait_for_selector(".said:has-text('will be delivered again')")


def test_a_webhook_that_fails_says_so(screen: Make, served: Running) -> None:
    hook = {"type": "webhook", "url": "http://127.0.0.1:9/x"}
    made = served.subscribe("fail = 1", subscriber="no answer", delivery=hook)
    served.publish({"fail": 1})
    one = screen()
    one.enter()
    page = one.go("subscriptions")
    page.wait_for_selector("tr:has-text('no answer') .chip:has-text('webhook fails')")
    page = one.go(f"subscriptions/{made['id']}")
    page.wait_for_selector(".note.bad:has-text('nothing there answers (unreachable)')")
    page.wait_for_selector(".note.bad dt:has-text('Next try') + dd:text-is('with the next notification')")
    assert page.locator(".note.bad dt:has-text('Requests that failed') + dd").inner_text() == "2"


def test_events_that_break_the_schema_are_shown_to_who_published_them(screen: Make, served: Running) -> None:
    admin = {"Authorization": f"Bearer {ADMIN}"}
    made = {"schema": {"x": "int"}, "owner": "somebody", "publish": ["*"]}
    assert served.http.put("/v1/streams/typed", json=made, headers=admin).is_success
    events = [{"id": "fits", "x": 1}, {"id": "breaks", "x": HOSTILE}]
    assert served.call("POST", "/v1/streams/typed/events", json=events).status_code == 202
    one = screen()
    page = one.enter()
    page.wait_for_selector("text=takes the right to read this stream")
    page = one.go("set-aside")
    page.wait_for_selector(
        "section:has-text('Stream typed'):has-text('1 event so far') tr:has-text('breaks') code:text-is('x')"
    )
    page.locator("tr:has-text('breaks') summary").click()
    page.wait_for_selector("pre.whole:has-text('onerror')")
    assert page.evaluate("window.hurt") is None


def test_narrow_and_dark_and_by_keyboard(screen: Make, served: Running) -> None:
    one = screen(390, 844, color_scheme="dark")
    page = one.enter()
    for name in PAGES:
        one.go(name).wait_for_selector("main h1")
        assert overflow(page) <= 0, name
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(15, 20, 23)"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # skip to the content
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.url.endswith("#/set-aside")
