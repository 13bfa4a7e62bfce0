"""A new team's first hour in the browser, with the seconds of each step: docs/walk.md has the result.

`python -m bench.demo.walk http://127.0.0.1:8000 PASSWORD TOKEN` needs a server that was just started for the first time, and the password and
token that it printed. It stores, invites two people who follow their links and make their own tokens, stores with these what
contradicts, reviews, and corrects.
"""

import json
import shutil
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

PASSWORD = "three-green-lanterns"
PROGRAM = "chromium-headless-shell"


def main(server: str, password: str, token: str) -> None:
    """Take the steps in the order of a new team."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program(), args=["--no-sandbox"])
        with step("first memory, over REST with the printed token"):
            store(server, token, "Refunds above 500 euros need a second approval.")
        admin = browser.new_page(base_url=server)
        with step("log in as admin"):
            log_in(admin, "admin", password)
        tokens = []
        for name, phone in (("nia", False), ("oto", True)):
            with step(f"invite {name}, who follows the link"):
                theirs = accept(browser, server, invite(admin, name), phone=phone)
            with step(f"{name} makes a token"):
                tokens.append(new_token(theirs))
        with step("both store, and one contradicts the other"):
            store(server, tokens[0], "Backups of the ledger are kept for 30 days.")
            store(server, tokens[1], "Backups of the ledger are kept for 90 days.")
        with step("review: the conflict is decided"):
            admin.goto("/admin/review/")
            expect(admin.locator(".review-card").first).to_be_visible()
            admin.get_by_role("button", name="Replace").first.click()
            expect(admin.get_by_role("button", name="Undo").first).to_be_enabled()
        with step("correct a memory in the workspace"):
            correct(admin)
        browser.close()


def program() -> str:
    """The path of the browser."""
    return shutil.which(PROGRAM) or sys.exit(f"{PROGRAM} is not here.")


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print the seconds that the block took."""
    since = time.perf_counter()
    yield
    print(f"{time.perf_counter() - since:5.1f} s  {name}", flush=True)


def store(server: str, token: str, text: str) -> Any:
    """Store a memory as an agent does."""
    body = json.dumps({"content": text, "group": "ledger", "type": "semantic"}).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(f"{server}/api/memories", body, headers)) as answer:
        return json.load(answer)


def log_in(page: Page, name: str, password: str) -> None:
    """Fill the login form."""
    page.goto("/login/")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/admin/")


def invite(page: Page, name: str) -> str:
    """The one-time link for a new contributor of `ledger`."""
    page.goto("/admin/auth/user/")
    page.goto("/admin/auth/user/add/")
    page.get_by_label("Name or e-mail").fill(name)
    page.get_by_label("Role in ledger").select_option("contributor")
    page.get_by_role("button", name="Invite", exact=True).click()
    link = page.locator("pre.loci-code").inner_text()
    return link[link.index("/invited/") :].split()[0]


def accept(browser: Browser, server: str, link: str, *, phone: bool) -> Page:
    """The page of an invited person who chose a password."""
    size = {"width": 390, "height": 844} if phone else {"width": 1440, "height": 900}
    page = browser.new_page(base_url=server, viewport=size)  # type: ignore[arg-type]
    page.goto(link)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("The same again").fill(PASSWORD)
    page.get_by_role("button", name="Save and log in").click()
    expect(page.get_by_role("status")).to_contain_text("Welcome!")
    return page


def new_token(page: Page) -> str:
    """The secret that the person copies with the line for Claude Code."""
    page.goto("/app/account/")
    page.get_by_role("link", name="Connect an agent").click()
    page.get_by_label("Name").fill("laptop")
    page.get_by_role("button", name="Create the token").click()
    page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; }")
    page.get_by_role("button", name="Copy: Claude Code").click()
    return str(page.evaluate("copied")).partition("Bearer ")[2].strip('"')


def correct(page: Page) -> None:
    """Correct the refund's limit."""
    page.goto("/app/?q=refunds+approval")
    page.get_by_role("link", name="Refunds above 500 euros").first.click()
    page.get_by_role("link", name="Correct").click()
    page.get_by_label("Corrected text").fill("Refunds above 300 euros need a second approval.")
    page.get_by_role("button", name="Save the correction").click()
    expect(page.get_by_role("main")).to_contain_text("Refunds above 300 euros")


if __name__ == "__main__":
    main(sys.argv[1].rstrip("/"), *sys.argv[2:4])
