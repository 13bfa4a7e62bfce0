"""The browser extension in Chromium with a real server: pair, capture, search, and what the site and its page may see."""

import re
import shutil
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Playwright, expect

from bench.demo import BROWSERS
from tests.browser.serving import Site
from tests.extension.browser import Chrome, chrome
from tests.extension.replicas import Replicas, serving_replicas

Check = Callable[[Page], None]
ASKED, ANSWERED = "Which host should the mail server move to?", "Brass has the room: move it before April."


@pytest.fixture
def replicas() -> Iterator[Replicas]:
    with serving_replicas() as replicas:
        yield replicas


@pytest.fixture
def browser(driver: Playwright, replicas: Replicas, tmp_path: Path) -> Iterator[Chrome]:
    if not any(map(shutil.which, BROWSERS)):
        pytest.skip("no Chromium with extensions was found; on Debian: apt-get install chromium")
    with chrome(driver, tmp_path, replicas) as browser:
        yield browser


def code_of(site: Site, who: str) -> str:
    """A code as My account shows it to a person who is logged in."""
    session = f"sessionid={site.logins[who]}"
    account = urllib.request.Request(f"{site.url}/admin/account/", headers={"Cookie": session})
    with urllib.request.urlopen(account) as page:
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.read().decode())[1]
        cookie = page.headers["Set-Cookie"].split(";")[0]
    address = f"{site.url}/admin/account/browsers/pair/"
    headers = {"Cookie": f"{session}; {cookie}", "X-CSRFToken": token}
    with urllib.request.urlopen(urllib.request.Request(address, data=b"", headers=headers)) as page:
        return re.search(r"<output>(\d{3} \d{3})</output>", page.read().decode())[1]


def test_a_conversation_is_kept_and_found_again(
    browser: Chrome, replicas: Replicas, site: Site, axe: Check
) -> None:
    talk = replicas.talk("claude.ai", ASKED, ANSWERED)
    options = browser.pair(site.url, code_of(site, "mia"))
    expect(options.locator("#said")).to_contain_text("Paired as mia")
    page = browser.open("claude.ai", f"/chat/{talk.id}")
    page.wait_for_timeout(300)
    assert browser.ask("status")["numbers"]["waiting"] == 0  # the site is off
    options.get_by_label("Claude (claude.ai)").check()
    axe(options)
    page.reload()
    browser.wait("status", lambda status: status["numbers"]["copies"] == 2)
    kept = site.call("alice", "GET", "conversations?platform=claude.ai")["items"]
    assert [(each["title"], each["turns"], each["url"]) for each in kept] == [
        (talk.title, 2, f"https://claude.ai/chat/{talk.id}")
    ]
    panel = browser.panel(page)
    panel.get_by_label("Search conversations and memories").fill("mail serv")
    expect(panel.locator("#results")).to_contain_text("claude.ai")
    expect(panel.locator("#results mark").first).to_have_text(re.compile("mail", re.IGNORECASE))
    assert page.evaluate("document.querySelector('iframe')") is None  # the site sees an empty element
    browser.close_panel(page, panel)
