"""A memory's page in a browser: graph, versions, test question, previews of verbs."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.access.matrix import read_matrix
from tests.browser.serving import Site
from tests.sizes import part

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: run `make test`")
expect = sync_api.expect

pytestmark = [pytest.mark.model, pytest.mark.server]
PageAs = Callable[..., Any]


def relate(site: Site, subject: str, predicate: str, other: str) -> dict[str, Any]:
    said: dict[str, Any] = site.call(
        "alice",
        "POST",
        "relations",
        {"subject": subject, "predicate": predicate, "object": other, "group": "ledger"},
    )
    return said


@pytest.fixture(scope="module")
def lighthouse(site: Site) -> str:
    """Id of an entity with two relations, one of which leads on to a third entity."""
    relate(site, "Lighthouse", "warns", "Freighter")
    relate(site, "Lighthouse", "stands on", "Skerry")
    relate(site, "Skerry", "belongs to", "Archipelago")
    found = site.call("alice", "GET", "memories?group=ledger&q=Lighthouse&type=entity")["items"]
    id_: str = found[0]["id"]
    return id_


def test_the_graph_is_opened_and_expanded_by_keyboard(
    page_as: PageAs, site: Site, lighthouse: str, axe: Any
) -> None:
    page = page_as("alice")
    page.goto(f"/admin/memories/memory/{lighthouse}/change/")
    expect(page.locator(".graph-node")).to_have_count(3)
    texts = {node.text_content() for node in page.locator(".graph-node > text").all()}
    assert texts == {"Lighthouse", "Freighter", "Skerry"}
    skerry = page.locator(".graph-node", has_text="Skerry")
    skerry.focus()
    expect(page.locator("[data-graph-status]")).to_have_text("Skerry")
    page.keyboard.press("Enter")
    expect(page.locator(".graph-node")).to_have_count(4)
    expect(page.locator("[data-graph-status]")).to_have_text("2 more: 4 memories, 3 edges.")
    axe(page)
    # Arrows go from node to node; each is in the picture.
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    box = page.locator("[data-graph]").bounding_box()
    for node in page.locator(".graph-node circle").all():
        at = node.bounding_box()
        assert box["x"] <= at["x"] <= box["x"] + box["width"]
        assert box["y"] <= at["y"] <= box["y"] + box["height"]
    page.locator(".graph-node", has_text="Archipelago").focus()
    page.keyboard.press("o")
    page.wait_for_url(lambda url: lighthouse not in url)
    expect(page.locator(".loci-text").first).to_contain_text("Archipelago")


def test_a_node_is_dragged_and_the_picture_zoomed(page_as: PageAs, lighthouse: str) -> None:
    page = page_as("alice")
    page.goto(f"/admin/memories/memory/{lighthouse}/change/")
    node = page.locator(".graph-node", has_text="Freighter").locator("circle")
    node.scroll_into_view_if_needed()
    before = node.bounding_box()
    page.mouse.move(before["x"] + 5, before["y"] + 5)
    page.mouse.down()
    page.mouse.move(before["x"] + 60, before["y"] + 40, steps=4)
    page.mouse.up()
    after = node.bounding_box()
    assert abs(after["x"] - before["x"]) + abs(after["y"] - before["y"]) > 15
    expect(page.locator(".graph-node")).to_have_count(3)  # a drag does not expand
    # Zooming moves nodes apart; they and their labels keep their size.
    other = page.locator(".graph-node", has_text="Skerry").locator("circle")
    apart = abs(other.bounding_box()["x"] - node.bounding_box()["x"])
    page.get_by_role("button", name="Zoom in").click()
    assert abs(other.bounding_box()["x"] - node.bounding_box()["x"]) > 1.1 * apart


def test_a_map_that_is_folded_is_drawn_when_it_is_opened(page_as: PageAs, site: Site) -> None:
    site.store("The ferry of the skerry sails at 9.", who="bob")
    id_ = site.store("The ferry of the skerry sails at 10.", who="bob")
    page = page_as("bob")
    page.goto(f"/admin/memories/memory/{id_}/change/")
    expect(page.locator(".graph-node")).to_have_count(0)
    page.get_by_text("Map", exact=True).click()
    expect(page.locator(".graph-node")).to_have_count(2)
    box = page.locator("[data-graph]").bounding_box()
    for node in page.locator(".graph-node circle").all():
        assert box["x"] <= node.bounding_box()["x"] <= box["x"] + box["width"]


def test_versions_history_and_the_question(page_as: PageAs, site: Site, axe: Any, fits: Any) -> None:
    old = site.store("The lamp of the pier is lit at 19:30.", who="bob")
    new = site.store("The lamp of the pier is lit at 20:15.", who="bob", supersedes=old)
    page = page_as("bob", dark=True)
    page.goto(f"/admin/memories/memory/{new}/change/?query=when+is+the+lamp+lit")
    expect(page.locator(".memory-versions del")).to_have_text("19:30")
    expect(page.locator(".memory-versions ins")).to_have_text("20:15")
    expect(page.locator(".memory-changes").first).to_contain_text("live → superseded")
    expect(page.locator(".loci-answer")).to_contain_text("Yes: it ranks 1")
    axe(page)
    fits(page)
    page = page_as("bob", phone=True)
    page.goto(f"/admin/memories/memory/{new}/change/")
    axe(page)
    fits(page)


def test_what_a_merge_would_do_is_said_before(page_as: PageAs, site: Site, axe: Any) -> None:
    one = site.store("Buoys are painted in April.", who="bob")
    site.store("The harbour master lives in the red house.", who="bob")
    page = page_as("bob")
    page.goto(f"/admin/memories/memory/{one}/merge/")
    page.get_by_role("combobox", name="Merge into").press_sequentially("harbour master red")
    page.get_by_role("option", name="The harbour master lives").click()
    axe(page)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("status")).to_contain_text(
        "Recall returns “The harbour master lives in the red house.” in its place"
    )
    remains = page.locator("section", has=page.get_by_role("heading", name="This one remains"))
    expect(remains).to_contain_text("The harbour master lives in the red house.")
    assert site.memory(one)["state"] == "live"
    expect(page.get_by_role("combobox", name="Merge into")).to_have_value(
        re.compile("The harbour master lives")
    )
    axe(page)
    page.get_by_role("button", name="Merge into another").click()
    expect(page.locator(".loci-badges").first).to_contain_text("merged")
    page.get_by_role("link", name="Restore", exact=False).click()
    page.get_by_role("button", name="Restore").click()
    assert site.memory(one)["state"] == "live"


def test_the_pieces_of_a_long_text_wait_in_its_details(page_as: PageAs, site: Site) -> None:
    id_ = site.store("".join(f"Buoy number {n} lies north of the mole. " for n in range(60)), who="bob")
    page = page_as("bob")
    page.goto(f"/admin/memories/memory/{id_}/change/")
    expect(page.locator("#pieces")).to_be_hidden()
    page.get_by_text("Details", exact=True).click()
    expect(page.locator("#pieces")).to_be_visible()
    assert page.locator("#pieces tbody tr").count() > 1


def test_lists_and_forms_cut_nothing_on_a_phone(page_as: PageAs, site: Site, axe: Any, fits: Any) -> None:
    site.store("A long sentence goes over several lines of a narrow list, and each of them can be read. " * 2)
    site.store("The quay of the ferry is number 41.")
    site.store("The quay of the ferry is number 42.")
    page = page_as("alice", phone=True)
    page.goto("/admin/")
    page.get_by_role("button", name="Menu", exact=True).press("Enter")
    expect(page.get_by_role("link", name="Settings")).to_be_visible()
    page.get_by_role("button", name="Close the menu").press("Enter")
    expect(page.get_by_role("link", name="Settings")).to_be_hidden()
    # A page of fifty; its rows are a line or two of text and a line of meta.
    cut = "[...document.querySelectorAll('#result_list :is(td, th)')].filter(c => c.scrollHeight > c.clientHeight + 2).length"
    for place in (
        "memories/memory/",
        "access/auditentry/",
        "relations/relation/",
        "auth/user/",
    ):
        page.goto(f"/admin/{place}")
        expect(page.locator("#result_list tbody tr").first).to_be_visible()
        assert page.evaluate(cut) == 0, place
        assert page.evaluate("document.documentElement.scrollHeight") <= 5_000, place
        fits(page)
    # The last list's first row is alice; a form of its own fields follows, and one with rows of members.
    for address in ("/admin/auth/user/1/change/", "/admin/groups/ledger/settings/"):
        page.goto(address)
        axe(page)
        fits(page)


def test_every_other_list_and_form_has_no_grave_fault(page_as: PageAs, site: Site, axe: Any) -> None:
    """Taken from the matrix, so that new pages are covered; without the pages of the other files."""
    elsewhere = ("admin/explore/", "admin/account/", "admin/maintenance/", "admin/review/", "admin/logout/", "admin/login/")  # fmt: skip
    offered = {
        face.name
        for face in read_matrix().of("page")
        if face.rule in ("login", "superuser") and re.fullmatch(r"admin/[a-z_/]+", face.name)
    }
    page, looked = page_as("alice"), list[str]()
    for name in sorted(name for name in offered if not name.startswith(elsewhere)):
        answer = page.request.get(f"/{name}")
        if answer.status == 200 and "<title>" in answer.text():
            looked.append(name)
    # The dashboard, a dozen lists, the forms that make something, and the page of one's password.
    assert len(looked) >= 18, looked
    for name in part(looked, 3):
        page.goto(f"/{name}")
        axe(page)
