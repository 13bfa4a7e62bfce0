"""Search, graph, timeline and groups by keyboard, light and dark, wide and narrow."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PageAs
from tests.browser.serving import Site
from tests.browser.watching import Guard

pytestmark = [pytest.mark.server, pytest.mark.model]
Check = Callable[[Page], None]
PAGES = [
    "/admin/",
    "/admin/groups/",
    *(
        f"/admin/groups/ledger/{tab}"
        for tab in ("", "changes/", "asked/", "files/", "map/", "map/?view=time", "settings/")
    ),
]


@pytest.mark.parametrize("address", PAGES)
def test_pages_are_accessible_and_fit(page_as: PageAs, axe: Check, fits: Check, address: str) -> None:
    for looks in ({"dark": False, "phone": False}, {"dark": True, "phone": True}):
        page = page_as("alice", **looks)
        page.goto(address)
        axe(page)
        fits(page)


def test_the_search_finds_as_one_types_and_enter_opens(site: Site, page_as: PageAs, axe: Check) -> None:
    site.wait_for_model()  # the palette asks once in a pause, and without it by words alone
    page = page_as("alice")
    page.goto("/admin/")
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Search all memories")
    expect(field).to_be_focused()
    page.keyboard.type("invoices in tw")
    expect(page.locator("#palette-list").get_by_role("option").first).to_contain_text(
        "Amounts are stored as integer cents"
    )
    axe(page)
    field.fill("")
    page.keyboard.type("refnuds")
    expect(page.locator("#palette-list").get_by_role("option").first).to_contain_text(
        "Refunds above 500 euros"
    )
    expect(page.locator("#palette-list").get_by_role("option").first).to_contain_text("similar spelling")
    field.fill("")
    page.keyboard.type("how is money kept without rounding")
    expect(page.locator(".palette-option", has_text="by meaning").first).to_contain_text("integer cents")
    field.fill("")
    page.keyboard.type("conversat")
    expect(
        page.locator("#palette-list").get_by_role("option", name=re.compile("Conversations"))
    ).to_be_visible()
    page.keyboard.press("Escape")
    expect(field).not_to_be_visible()
    page.keyboard.press("Control+k")
    field.fill("Refunds above")
    expect(page.locator("#palette-list").get_by_role("option").first).to_contain_text(
        "Refunds above 500 euros"
    )
    page.keyboard.press("Enter")
    page.wait_for_url("**/admin/memories/memory/*/change/")
    expect(page.locator(".loci-text").first).to_contain_text("Refunds above 500 euros")


def test_the_search_shows_nothing_of_other_groups(page_as: PageAs) -> None:
    page = page_as("bob")  # he does not belong to atlas
    page.goto("/admin/")
    page.keyboard.press("Control+k")
    page.keyboard.type("Postcodes of Malta")
    expect(page.locator("#palette-note")).to_have_text("0 memories found")
    expect(page.locator("#palette-list").get_by_role("option")).to_have_count(1)  # to ask


def test_what_is_stored_is_shown_as_text(page_as: PageAs, site: Site) -> None:
    site.store("Walrus <img src=x onerror=document.title='broken'> and \"quotes\"")
    page = page_as("alice")
    page.goto("/admin/")
    page.keyboard.press("Control+k")
    page.keyboard.type("walrus")
    expect(page.locator("#palette-list").get_by_role("option").first).to_contain_text("<img src=x")
    assert page.locator("#palette img").count() == 0
    assert "broken" not in page.title()


def test_the_graph_is_walked_and_expanded_by_keyboard(page_as: PageAs, site: Site) -> None:
    site.call(
        "alice",
        "POST",
        "relations",
        {"subject": "PostgreSQL", "predicate": "runs_on", "object": "Debian", "group": "ledger"},
    )
    found = site.call("alice", "GET", "relations?of=Ines&group=ledger")["items"][0]
    page = page_as("alice")
    page.goto(f"/admin/groups/ledger/map/?of={found['subject']['id']}")
    nodes = page.locator(".graph-node")
    expect(nodes).to_have_count(2)
    page.locator(".graph-node", has_text="Ledger").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".graph-node", has_text="PostgreSQL")).to_be_visible()
    expect(page.locator("#graph-said")).to_contain_text("more nodes and edges around Ledger")
    # The table has what the picture has.
    expect(page.locator("#graph-table tbody tr", has_text="PostgreSQL")).to_have_count(1)
    page.locator(".graph-node", has_text="PostgreSQL").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#graph-table tbody tr", has_text="Debian")).to_have_count(1)
    page.get_by_role("checkbox", name="entity").uncheck()
    expect(page.locator("#graph-table tbody tr:visible")).to_have_count(0)
    page.get_by_role("checkbox", name="entity").check()
    page.locator(".graph-node", has_text="Debian").focus()
    page.keyboard.press("o")
    page.wait_for_url("**/admin/memories/memory/*/change/")


def test_two_entities_of_the_graph_are_merged(page_as: PageAs, site: Site, axe: Check) -> None:
    for subject, object_ in (("Margarete", "Invoices"), ("Margareta", "Receipts")):
        site.call(
            "alice",
            "POST",
            "relations",
            {"subject": subject, "predicate": "writes", "object": object_, "group": "ledger"},
        )
    page = page_as("alice")
    page.goto("/admin/groups/ledger/map/?predicate=writes")
    page.locator(".graph-node", has_text="Margareta").focus()
    page.keyboard.press("m")
    expect(page.locator("#graph-said")).to_contain_text("Margareta is marked")
    page.locator(".graph-node", has_text="Margarete").focus()
    page.keyboard.press("m")
    page.wait_for_url("**/merge/?other=*")
    axe(page)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="This one remains")).to_be_visible()
    page.get_by_role("button", name="Merge into another", exact=True).click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    page.goto("/admin/groups/ledger/map/?predicate=writes")
    expect(page.locator(".graph-node", has_text="Margarete")).to_have_count(1)
    expect(page.locator(".graph-node", has_text="Margareta")).to_have_count(0)


def test_the_sliders_of_the_timeline_ask_about_the_past(page_as: PageAs, site: Site) -> None:
    old = site.store("The walrus port is 8081.", valid_from="2026-03-01T00:00:00Z")
    new = site.store("The walrus port is 8443.", valid_from="2026-05-01T00:00:00Z", supersedes=old)
    page = page_as("alice")
    page.goto("/admin/groups/ledger/map/?view=time&words=walrus+port")
    rows = {id_: page.locator(f".time-row[data-memory='{id_}']") for id_ in (old, new)}
    hidden = re.compile("time-hidden")
    expect(rows[old]).to_have_class(hidden)
    expect(rows[new]).not_to_have_class(hidden)
    slider = page.locator("#as-of")
    slider.focus()
    slider.fill("150")  # of a thousand steps from February to now: some days of April
    expect(rows[old]).not_to_have_class(hidden)
    expect(rows[new]).to_have_class(hidden)
    expect(page.locator("#as-of-said")).to_contain_text("2026-04-")
    assert "as_of=2026-04-" in page.url
    # Loci did not know then what it knows now.
    page.locator("#known-at").fill("150")
    expect(rows[old]).to_have_class(hidden)
    page.reload()
    expect(rows[old]).to_have_class(hidden)
    page.get_by_role("button", name="Reset both to now").click()
    expect(rows[new]).not_to_have_class(hidden)
    assert "as_of" not in page.url


def test_the_keyboard_goes_past_the_sidebar_and_opens_the_accounts_menu(page_as: PageAs) -> None:
    page = page_as("alice")
    page.goto("/admin/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Account of alice").press("Enter")
    expect(page.get_by_role("button", name="Log out")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Log out")).to_be_hidden()


def test_a_groups_instructions_are_changed(page_as: PageAs) -> None:
    page = page_as("alice")
    page.goto("/admin/groups/ledger/settings/")
    page.get_by_label("Instructions").fill("Amounts are integer cents.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Agents get the instructions and rules from now on.")).to_be_visible()
    page.get_by_role("link", name="Knows").click()
    expect(page.locator(".loci-side")).to_contain_text("Amounts are integer cents.")


def test_a_stranger_is_refused_a_group(page_as: PageAs, guard: Guard) -> None:
    guard.allow("404")
    page = page_as("charlie")
    page.goto("/admin/groups/ledger/")
    expect(page.get_by_role("heading", name="There is no group 'ledger'").last).to_be_visible()
