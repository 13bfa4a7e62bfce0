"""The graph page with hundreds of nodes: labels, dragging, choosing, and the memories behind a node."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PageAs
from tests.browser.fleet import NODES
from tests.browser.serving import Site

pytestmark = [pytest.mark.server, pytest.mark.model]
# Pairs of labels on show whose boxes meet by more than a pixel, and labels outside the picture.
COLLISIONS = """() => {
    const frame = document.querySelector('#graph').getBoundingClientRect();
    const boxes = [...document.querySelectorAll('#graph text:not([hidden])')].map(text => [text.textContent, text.getBoundingClientRect()])
        .filter(([, box]) => box.width);
    const found = [];
    boxes.forEach(([one, a], at) => {
        if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 1 || a.bottom > frame.bottom + 1) found.push(`${one} outside`);
        boxes.slice(at + 1).forEach(([other, b]) => {
            if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1) found.push(`${one} | ${other}`);
        });
    });
    return {found, count: boxes.length};
}"""


@pytest.fixture(scope="module")
def fleet(site: Site) -> None:
    """A tree of 300 things; one memory names the first."""
    site.run("-m", "tests.browser.fleet")


def labels(page: Page) -> int:
    """How many labels are on show; fails if two of them meet."""
    measured: dict[str, Any] = page.evaluate(COLLISIONS)
    assert measured["found"] == []
    return int(measured["count"])


@pytest.mark.usefixtures("fleet")
def test_hundreds_of_nodes_are_shown_without_a_collision(page_as: PageAs, fits: Any) -> None:
    for looks, least in (({"dark": False}, 40), ({"dark": True, "phone": True}, 12)):
        page = page_as("alice", **looks)
        page.goto("/admin/groups/ledger/map/?predicate=follows")
        expect(page.locator("#graph .graph-node")).to_have_count(NODES)
        far = labels(page)
        assert far >= least
        page.get_by_role("button", name="Zoom in").click()
        page.get_by_role("button", name="Zoom in").click()
        labels(page)
        # What one points at has its label, and so has all beside it.
        page.locator("#graph .graph-node", has_text="Vessel 003").focus()
        expect(
            page.locator("#graph .graph-node.graph-lit text:not([hidden])", has_text="Vessel 003")
        ).to_have_count(1)
        labels(page)
        fits(page)


@pytest.mark.usefixtures("fleet")
def test_a_node_is_dragged_chosen_and_its_memories_are_shown(page_as: PageAs) -> None:
    page = page_as("alice")
    page.goto("/admin/groups/ledger/map/?predicate=follows")
    node = page.locator("#graph .graph-node.graph-is-entity", has_text="Vessel 000")
    disc = node.locator("circle")
    before = disc.bounding_box()
    assert before
    page.mouse.move(before["x"] + 5, before["y"] + 5)
    page.mouse.down()
    page.mouse.move(before["x"] + 85, before["y"] + 45, steps=4)
    page.mouse.up()
    after = disc.bounding_box()
    assert after
    assert abs(after["x"] - before["x"] - 80) < 5
    assert abs(after["y"] - before["y"] - 40) < 5
    disc.click()
    panel = page.locator("#graph-panel")
    expect(panel.get_by_role("heading")).to_have_text("Vessel 000")
    panel.get_by_role("button", name="Memories").click()
    expect(page.locator("#graph-said")).to_have_text("1 memory behind Vessel 000.")
    memory = page.locator("#graph .graph-node.graph-is-episodic, #graph .graph-node.graph-is-semantic")
    expect(memory).to_have_count(1)
    expect(panel).to_contain_text("leaves the harbour on Mondays")
    expect(page.locator("#graph-table tbody tr", has_text="mention")).to_have_count(1)
    labels(page)
    disc.dblclick()
    page.wait_for_url(re.compile("/admin/memories/memory/.*/change/"))
