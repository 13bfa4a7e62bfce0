"""Ten tasks of a team, each from Home in at most three page loads."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import PageAs
from tests.browser.serving import Site

_MOST_LOADS = 3
_PORT = "8443 since the move"


class _Home:
    """Home of a person, and the pages that were loaded since."""

    def __init__(self, page: Page) -> None:
        page.goto("/admin/")
        self.page, self.loads = page, list[str]()
        page.on("framenavigated", lambda frame: self.loads.append(frame.url))

    @property
    def main(self) -> Locator:
        return self.page.get_by_role("main")

    def open(self, *names: str) -> None:
        """Follow links by their names, one after the other."""
        for name in names:
            self.page.get_by_role("link", name=name).first.click()

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=re.compile(f"^{name}")).first.click()

    def ask(self, question: str) -> None:
        self.page.get_by_label("Question", exact=True).fill(question)
        self.press("Ask")


@pytest.fixture
def home(page_as: PageAs) -> Iterator[_Home]:
    """Home of alice; the test fails if it loaded too many pages."""
    home = _Home(page_as("alice"))
    yield home
    pages = [url for url in home.loads if "#" not in url]
    assert len(pages) <= _MOST_LOADS, pages


def test_find_what_the_team_knows(home: _Home) -> None:
    home.ask("what is the deploy port of the ledger")
    expect(home.main).to_contain_text(_PORT)


def test_see_who_said_so(home: _Home) -> None:
    home.ask("what is the deploy port of the ledger")
    home.main.get_by_role("link", name=_PORT).first.click()
    expect(home.main).to_contain_text(re.compile("alice stored it .* in Ledger service"))


def test_settle_a_conflict(home: _Home) -> None:
    home.main.get_by_role("link", name="Conflict").first.click()
    expect(home.page.locator(".review-card")).to_be_visible()
    home.press("Dismiss")
    expect(home.page.locator("[data-list] li[data-done]")).to_have_count(1)


def test_correct_a_fact(home: _Home) -> None:
    home.open("The glossary of the ledger", "Correct")
    home.page.locator("[name=content]").fill("The glossary of the ledger is in the wiki.")
    home.press("Save")
    expect(home.main).to_contain_text("is in the wiki")


def test_answer_what_agents_asked_in_vain(home: _Home) -> None:
    expect(home.main).to_contain_text("who likes sailing")
    home.open("Store the answer")
    home.page.locator("[name=content]").fill("Ines likes sailing.")
    home.press("Save")
    expect(home.main).to_contain_text("Ines likes sailing.")


def test_invite_a_colleague(home: _Home) -> None:
    home.open("Invite")
    home.page.get_by_label("Name or e-mail").fill("nia@example.org")
    home.press("Invite")
    expect(home.page.get_by_role("heading", name="nia is invited").first).to_be_visible()


def test_undo_what_her_agent_captured(page_as: PageAs, site: Site) -> None:
    text = "The tea kitchen closes at six on Fridays."
    id_ = site.store(text, who="mia", type="procedural")
    home = _Home(page_as("mia"))
    home.open(text)
    expect(home.main).to_contain_text("mia by program")
    home.open("Forget")
    home.press("Forget")
    expect(home.page.get_by_text("forgotten").first).to_be_visible()
    assert site.memory(id_, who="mia")["state"] == "forgotten"
    assert len(home.loads) <= _MOST_LOADS, home.loads


def test_import_notes(home: _Home) -> None:
    home.open("New memory", "Import notes or a file")
    notes = {"name": "notes.md", "mimeType": "text/markdown", "buffer": b"# Boats\n\nThe boat is blue.\n"}
    home.page.locator("input[type=file]").set_input_files(files=[notes])  # type: ignore[list-item]
    home.press("Check the file")
    expect(home.page).to_have_url(re.compile("/admin/sources/upload/[^a]"))


def test_see_what_the_night_did(home: _Home) -> None:
    home.open("What it did")
    expect(home.main).to_contain_text("compact")


def test_restore_a_backup(home: _Home) -> None:
    home.open("Settings", "Backups")
    expect(home.page.get_by_role("heading", name="Restore a backup")).to_be_visible()
    expect(home.main).to_contain_text("loci restore")
