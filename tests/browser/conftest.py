"""Chromium on a real server over the made-up team of bench.demo.

alice owns everything · bob curates `ledger` and `support` · mia contributes to `ledger` · vera reads `ledger` ·
charlie belongs to no group. alice, bob and charlie may enter the admin. Each test file has a server and a store of
its own; nothing of a test file is seen by another.
"""

import fcntl
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: run `make test`")

from playwright.sync_api import Browser, BrowserContext, Page, Playwright  # noqa: E402

from bench.demo import BROWSERS  # noqa: E402 - after it is known that there is a browser to drive
from tests.browser.serving import Site, seed_home, serving  # noqa: E402
from tests.browser.watching import Guard, grave_faults  # noqa: E402

WITHOUT_WINDOW = "chromium-headless-shell"  # the same Chromium; a page costs a third of the time
PHONE = {"width": 390, "height": 844}
WIDE = {"width": 1280, "height": 860}
# A machine that does other work too needs more than the 5 s of Playwright.
WAIT_MS = 60_000
# No name but this machine's is resolved, so that a page that asks elsewhere fails instead of being answered.
SWITCHES = ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
PageAs = Callable[..., Page]
sync_api.expect.set_options(timeout=WAIT_MS)


@pytest.fixture(scope="package")
def driver() -> Iterator[Playwright]:
    """What starts browsers. Package scope: Playwright keeps an event loop, which no other test may meet."""
    with sync_api.sync_playwright() as driver:
        yield driver


@pytest.fixture(scope="package")
def chromium(driver: Playwright) -> Iterator[Browser]:
    """One browser for all files."""
    program = next(filter(None, map(shutil.which, (WITHOUT_WINDOW, *BROWSERS))), None)
    if program is None:
        pytest.skip(f"no Chromium was found; on Debian: apt-get install {WITHOUT_WINDOW}")
    browser = driver.chromium.launch(executable_path=program, args=SWITCHES)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def seeded_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a filled store, made once for all test processes and never written to."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "popen" in base.name else base
    home = shared / "seeded-home"
    with (shared / "seeded.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "people.json").exists():
            shutil.rmtree(home, ignore_errors=True)
            seed_home(home)
    return home


@pytest.fixture(scope="module")
def site(seeded_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """This file's own server, over its own copy of the filled store."""
    with serving(seeded_home, tmp_path_factory.mktemp("site") / "home") as site:
        yield site


@pytest.fixture
def guard() -> Iterator[Guard]:
    """Fails the test for an error in the console or a request to another machine."""
    guard = Guard()
    yield guard
    assert guard.left() == []


@pytest.fixture
def page_as(chromium: Browser, site: Site, guard: Guard) -> Iterator[PageAs]:
    """`page_as("bob", dark=True, phone=True)`: a new browser window in which that person is logged in.

    `None` for the name: nobody is. Addresses are relative: `page.goto("/admin/")`.
    """
    contexts: list[BrowserContext] = []

    def opened(who: str | None, *, dark: bool = False, phone: bool = False) -> Page:
        context = chromium.new_context(
            base_url=site.url,
            viewport=PHONE if phone else WIDE,
            has_touch=phone,
            color_scheme="dark" if dark else "light",
            storage_state=_cookies(site, who) if who else None,
            reduced_motion="reduce",
        )
        context.set_default_timeout(WAIT_MS)
        guard.watch(context)
        contexts.append(context)
        return context.new_page()

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def axe() -> Callable[[Page], None]:
    """`axe(page)`: fails if axe-core finds a serious or critical problem."""

    def checked(page: Page) -> None:
        faults = grave_faults(page)
        assert not faults, f"{page.url}\n" + "\n".join(faults)

    return checked


@pytest.fixture
def fits() -> Callable[[Page], None]:
    """`fits(page)`: fails if the page is wider than the window."""

    def checked(page: Page) -> None:
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= page.viewport_size["width"], f"{page.url} is {width} pixels wide"

    return checked


def _cookies(site: Site, who: str) -> Any:
    """Session cookies of a logged-in person; test_people.py tests the login itself."""
    cookie = {"name": "sessionid", "value": site.logins[who], "domain": "127.0.0.1", "path": "/", "expires": -1,
              "httpOnly": True, "secure": False, "sameSite": "Lax"}  # fmt: skip
    return {"cookies": [cookie], "origins": []}
