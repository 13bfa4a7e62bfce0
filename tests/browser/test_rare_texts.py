"""Texts that no page is built around: very long ones, words without an end, right to left; and pages that are rarely full."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.conftest import PageAs
from tests.browser.serving import Site
from tests.browser.watching import Guard

Check = Callable[[Page], None]
WORD = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerk"
PLACE = "/admin/memories/memory/{}/change/"


def test_a_word_without_an_end_fits_a_phone(page_as: PageAs, site: Site, fits: Check) -> None:
    stored = site.store(f"{WORD * 4} reports to https://example.org/{'a' * 300}.", tags=[WORD])
    page = page_as("alice", phone=True)
    page.goto(PLACE.format(stored))
    fits(page)


def test_a_very_long_text_leaves_its_buttons_near(
    page_as: PageAs, site: Site, axe: Check, fits: Check
) -> None:
    text = "\n".join(f"{day}. The ledger closes with {day * 37} cents." for day in range(900))
    page = page_as("alice", phone=True)
    page.goto(PLACE.format(site.store(text)))
    frame = page.get_by_role("region", name="Text")
    assert frame.evaluate("each => each.scrollHeight > 10 * each.clientHeight")
    button = page.get_by_role("link", name="Correct").first.bounding_box()
    assert button is not None
    assert button["y"] < 2 * 844  # within two windows of a phone
    fits(page)
    axe(page)


def test_a_text_from_right_to_left_begins_at_the_right(page_as: PageAs, site: Site) -> None:
    page = page_as("alice")
    page.goto(PLACE.format(site.store("خدمة الدفتر تعمل على المنفذ 8443.")))
    text = page.locator("main [dir=auto], #content [dir=auto]").filter(has_text="8443").last
    assert text.evaluate("each => getComputedStyle(each).direction") == "rtl"


def test_rare_filters_of_conversations_wait_behind_a_word(page_as: PageAs, axe: Check, fits: Check) -> None:
    page = page_as("mia", phone=True)
    page.goto("/admin/conversations/")
    expect(page.get_by_label("Words")).to_be_visible()
    expect(page.get_by_label("From")).to_be_hidden()
    page.get_by_text("More filters").click()
    page.get_by_label("Tag").fill("keys")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_label("Tag")).to_have_value("keys")
    expect(page.get_by_label("From")).to_be_visible()
    fits(page)
    axe(page)


def test_a_conflict_leads_to_the_review(page_as: PageAs, site: Site, axe: Check) -> None:
    site.store("The gate of the yard opens at 7.", who="bob")
    id_ = site.store("The gate of the yard opens at 8.", who="bob")
    page = page_as("bob")
    page.goto(PLACE.format(id_))
    axe(page)
    page.get_by_role("link", name="Decide in the Review").first.click()
    expect(page).to_have_url(re.compile(r"/admin/review/\?kind=conflict"))


def test_after_a_wrong_password_the_cursor_is_in_its_field(page_as: PageAs, guard: Guard) -> None:
    guard.allow("403")
    guard.allow("401")
    page = page_as(None)
    page.goto("/login/")
    page.get_by_label("Name").fill("vera")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Password")).to_be_focused()


def test_a_backup_is_copied_by_the_command_shown(page_as: PageAs, site: Site, axe: Check) -> None:
    site.manage("backup")
    page = page_as("alice")
    page.goto("/admin/maintenance/joblock/backups/")
    newest = page.locator("tbody code").first.inner_text()
    assert f"/backups/{newest} ." in page.get_by_text("scp HOST:").inner_text()
    axe(page)
