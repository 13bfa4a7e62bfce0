"""The frame of the one site: five entries, Settings by rights, the palette, the keys, and former addresses."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PageAs

Check = Callable[[Page], None]
ENTRIES = ["Home", "Groups", "Review", "Ask", "Settings"]
# Tiles of Settings, and to whom each is shown: vera reads, bob curates, alice is a superuser.
TILES = {
    "My account": ("vera", "bob", "alice"),
    "Tokens": ("vera", "bob", "alice"),
    "Audit log": ("vera", "bob", "alice"),
    "Tombstones": ("bob", "alice"),
    "People": ("alice",),
    "Backups": ("alice",),
    "Settings of the instance": ("alice",),
}


@pytest.mark.parametrize("who", ["vera", "bob", "alice"])
def test_everybody_has_the_five_entries_and_the_tiles_of_their_rights(
    page_as: PageAs, axe: Check, fits: Check, who: str
) -> None:
    page = page_as(who)
    page.goto("/")
    expect(page).to_have_url("/admin/")
    entries = page.locator("#nav-sidebar-apps a")
    expect(entries).to_have_count(len(ENTRIES))
    for name, link in zip(ENTRIES, entries.all(), strict=True):
        expect(link).to_contain_text(name)
    expect(page.locator(".loci-new")).to_have_count(0 if who == "vera" else 1)
    entries.last.click()
    expect(page.locator("#nav-sidebar-apps a.active")).to_contain_text("Settings")
    for tile, seen_by in TILES.items():
        tiles = page.locator(".loci-tile strong", has_text=re.compile(f"^{tile}$"))
        expect(tiles).to_have_count(int(who in seen_by))
    axe(page)
    phone = page_as(who, phone=True, dark=True)
    phone.goto("/admin/settings/")
    axe(phone)
    fits(phone)


def test_a_page_behind_settings_leads_back(page_as: PageAs) -> None:
    page = page_as("alice")
    page.goto("/admin/account/password/")
    way = page.get_by_role("heading", level=1).first
    expect(page.locator("#nav-sidebar-apps a.active")).to_contain_text("Settings")
    way.get_by_role("link", name="My account").click()
    expect(page).to_have_url("/admin/account/")
    way.get_by_role("link", name="Settings").click()
    expect(page).to_have_url("/admin/settings/")
    page.goto("/admin/memories/memory/")
    expect(page.locator("#nav-sidebar-apps a.active")).to_contain_text("Groups")


def test_the_palette_finds_pages_groups_and_for_superusers_people(page_as: PageAs, axe: Check) -> None:
    for who, people in (("vera", 0), ("alice", 1)):
        page = page_as(who)
        page.goto("/admin/groups/")
        page.keyboard.press("Control+k")
        options, field = page.get_by_role("option"), page.locator("#palette-input")
        expect(options.filter(has_text="Tokens")).to_have_count(1)
        axe(page)
        field.fill("charlie")
        expect(options.filter(has_text="Ask: charlie")).to_have_count(1)
        expect(options.filter(has_text="person")).to_have_count(people)
        field.fill("ledger serv")
        expect(options.filter(has_text="Ledger service").filter(has_text="group")).to_have_count(1)


def test_the_keys_open_entries_and_approve_nothing(page_as: PageAs, axe: Check) -> None:
    page = page_as("bob")
    page.goto("/admin/review/")
    waiting = page.request.get("/admin/review/count/").json()
    page.keyboard.press("g")
    page.keyboard.press("a")
    page.wait_for_url("**/admin/ask/")
    assert page.request.get("/admin/review/count/").json() == waiting
    page.goto("/admin/settings/")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys).to_be_visible()
    axe(page)
    page.keyboard.press("Escape")
    expect(keys).not_to_be_visible()
    page.keyboard.press("n")
    page.wait_for_url("**/admin/memories/memory/add/")
    page.goto("/admin/account/")
    page.get_by_label("Keyboard shortcuts of single letters").uncheck()
    page.locator("form[action$='/preferences/'] [type=submit]").click()
    expect(page.get_by_role("status")).to_have_text("Saved.")
    page.goto("/admin/settings/")
    page.keyboard.press("?")
    expect(keys).not_to_be_visible()


def test_former_addresses_lead_on(page_as: PageAs) -> None:
    page = page_as("vera")
    for old, new in (
        ("/app/account/", "/admin/account/"),
        ("/app/conversations/", "/admin/conversations/"),
        ("/help/how-to/review/", "/admin/help/how-to/review/"),
        ("/admin/explore/groups/ledger/", "/admin/groups/ledger/"),
    ):
        page.goto(old)
        expect(page).to_have_url(new)
