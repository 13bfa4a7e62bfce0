"""Review in a browser: by keyboard alone, one by one and in bulk, and undoing all of it."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.serving import Site

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: run `make test`")
expect, Page = sync_api.expect, sync_api.Page

pytestmark = [pytest.mark.model, pytest.mark.server]
PageAs = Callable[..., Any]
TOPICS = ("invoice", "backup", "login", "search", "export", "import", "billing", "report", "session", "upload",
          "printer", "calendar", "mailbox", "webhook", "cache", "queue", "archive", "theme", "avatar", "badge")  # fmt: skip


def waiting(site: Site, text: str) -> str:
    """Store candidates: in `support` every write by a token waits for approval."""
    body = {"content": text, "group": "support"}
    answer = site.call("alice", "POST", "memories", body)
    assert answer["outcome"] == "queued", answer
    id_: str = answer["id"]
    return id_


def opened(page: Any, query: str) -> None:
    """Open the deck and wait for its first card."""
    page.goto(f"/admin/review/?{query}")
    expect(page.locator(".review-card")).to_be_visible()


def current(page: Any) -> Any:
    """The row of the current card."""
    return page.locator("[data-list] li:has([aria-current])")


def settled(page: Any) -> None:
    """Wait for the next card; keys pressed before it is shown are ignored."""
    expect(page.locator("[data-place]")).not_to_have_attribute("aria-busy", "true")


def go_to(page: Any, text: str) -> None:
    """Go by key to the card with this beginning."""
    for _ in range(80):
        if text in page.locator(".review-main [data-text]").inner_text():
            return
        before = current(page).get_attribute("data-id")
        page.keyboard.press("j")
        expect(page.locator(f".review-card:not([data-id='{before}'])")).to_be_visible()
        settled(page)
    raise AssertionError(f"no card says {text!r}")


def decide(page: Any, key: str, outcome: str) -> str:
    """Press a key and wait for the outcome in the card's row; the card's id."""
    id_: str = current(page).get_attribute("data-id")
    page.keyboard.press(key)
    expect(page.locator(f"[data-list] li[data-id='{id_}']")).to_have_attribute("data-done", outcome)
    settled(page)
    return id_


def undo(page: Any) -> None:
    page.keyboard.press("u")
    expect(page.locator("[data-status]")).to_contain_text("Undone")
    settled(page)


def test_twenty_are_reviewed_by_keyboard_alone(page_as: PageAs, site: Site) -> None:
    ids = [waiting(site, f"The {topic} team answers within {n + 2} hours.") for n, topic in enumerate(TOPICS)]
    page = page_as("bob")
    page.goto("/admin/")
    opened(page, "kind=candidate&group=support")
    go_to(page, "The invoice team")
    expected = {}
    for number in range(20):
        key, outcome, trust = (
            ("r", "Rejected", "rejected") if number % 4 == 3 else ("a", "Approved", "active")
        )
        expected[decide(page, key, outcome)] = trust
    assert set(expected) == set(ids)
    assert {id_: site.memory(id_)["trust"] for id_ in ids} == expected
    # And the last two come back, the last one first.
    undo(page)
    expect(page.locator(f"[data-list] li[data-id='{ids[19]}']")).not_to_have_attribute(
        "data-done", re.compile(".")
    )
    undo(page)
    expect(page.locator(f"[data-list] li[data-id='{ids[18]}']")).not_to_have_attribute(
        "data-done", re.compile(".")
    )
    assert [site.memory(id_)["trust"] for id_ in ids[17:]] == ["active", "candidate", "candidate"]


def test_a_conflict_is_resolved_and_opened_again(page_as: PageAs, site: Site) -> None:
    old = site.store("The office of the harbour team is in Lisbon.", who="bob")
    new = site.store("The office of the harbour team is in Porto.", who="bob")
    page = page_as("bob")
    opened(page, "")
    # A press on a kind narrows the deck to it.
    chip = page.locator(".review-kind", has_text="Conflict")
    chip.click()
    page.wait_for_url("**/admin/review/?kind=conflict")
    expect(chip).to_have_attribute("aria-current", "true")
    expect(page.locator("[data-list] li").first).to_contain_text("conflict")
    go_to(page, "Porto")
    expect(page.locator(".review-diff del")).to_have_text("Lisbon")
    expect(page.locator(".review-diff ins")).to_have_text("Porto")
    # Why they were tied stands on the card, once: the two words that exclude each other.
    expect(page.locator(".review-other .review-why")).to_contain_text("“Lisbon” against “Porto”")
    # What recall returns before and after comes by itself, and says which goes.
    expect(page.locator(".review-is-gone")).to_contain_text("Lisbon")
    decide(page, "s", "Replaced")
    assert site.memory(old)["state"] == "superseded"
    undo(page)
    assert [site.memory(id_)["state"] for id_ in (old, new)] == ["live", "live"]
    decide(page, "d", "Dismissed")
    page.goto("/admin/review/?kind=conflict")
    expect(page.get_by_text("harbour team")).to_have_count(0)


def test_the_other_one_stays_where_the_two_are_swapped(page_as: PageAs, site: Site) -> None:
    old = site.store("The port of the tram depot is 4041.", who="bob")
    new = site.store("The port of the tram depot is 4042.", who="bob")
    page = page_as("bob")
    opened(page, "kind=conflict")
    go_to(page, "4042")
    page.keyboard.press("x")
    expect(page.locator("[data-do=swap]")).to_have_attribute("aria-pressed", "true")
    decide(page, "s", "Replaced")
    assert [site.memory(id_)["state"] for id_ in (old, new)] == ["live", "superseded"]


def test_a_merge_is_undone(page_as: PageAs, site: Site) -> None:
    one = site.store("Parcels to Norway are shipped from the northern warehouse.", who="bob")
    two = site.store("Parcels to Norway are usually sent out from the northern warehouse.", who="bob")
    page = page_as("bob")
    opened(page, "kind=duplicate")
    go_to(page, "usually sent out")
    decide(page, "m", "Merged")
    assert site.memory(two)["state"] == "merged"
    page.reload()  # what can be taken back outlives the page
    undo(page)
    assert [site.memory(id_)["state"] for id_ in (one, two)] == ["live", "live"]


def test_a_text_is_put_right_and_approved(page_as: PageAs, site: Site) -> None:
    waiting(site, "The kiosk opens at 8 o'clok.")
    page = page_as("bob")
    opened(page, "kind=candidate&group=support")
    go_to(page, "The kiosk")
    page.keyboard.press("e")
    expect(page.locator("#review-text")).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("The kiosk opens at 8 o'clock.")
    page.get_by_role("button", name="Save and approve").press("Enter")
    expect(page.locator("[data-status]")).to_contain_text("Edited and approved")
    found = site.call("bob", "GET", "memories?group=support&q=kiosk+opens")["items"]
    assert [(m["content"], m["trust"]) for m in found] == [("The kiosk opens at 8 o'clock.", "active")]


def test_many_are_decided_at_once_after_a_preview(page_as: PageAs, site: Site) -> None:
    ids = [
        waiting(site, f"The {colour} folder belongs to shelf {n}.")
        for n, colour in enumerate(("red", "blue", "green"))
    ]
    page = page_as("bob")
    opened(page, "kind=candidate&group=support")
    for id_ in ids:
        page.locator(f"[data-list] li[data-id='{id_}'] input").check()
    expect(page.locator("[data-chosen]")).to_have_text("3 selected")
    page.get_by_role("button", name="Approve…").click()
    box = page.get_by_role("dialog")
    expect(box).to_contain_text("Approved: 3 of 3?")
    expect(box).to_contain_text("(3 times)")
    assert {site.memory(id_)["trust"] for id_ in ids} == {"candidate"}
    # Meanwhile somebody else decides about one.
    site.call("alice", "POST", f"memories/{ids[1]}/forget", {})
    box.get_by_role("button", name="Yes, 3").click()
    expect(box).to_contain_text("1 not possible")
    box.get_by_role("button", name="Close").click()
    assert [site.memory(id_)["trust"] for id_ in ids] == ["active", "candidate", "active"]
    undo(page)
    assert {site.memory(id_)["trust"] for id_ in ids} == {"candidate"}


def test_what_is_refused_is_said(page_as: PageAs, site: Site, guard: Any) -> None:
    id_ = waiting(site, "The fountain is switched off in winter.")
    page = page_as("bob")
    opened(page, "kind=candidate&group=support")
    go_to(page, "The fountain")
    site.call("alice", "POST", f"memories/{id_}/forget", {})
    guard.allow("409")
    page.keyboard.press("a")
    expect(page.locator("[data-status]")).to_contain_text("is forgotten")
    expect(page.locator(f"[data-list] li[data-id='{id_}']")).not_to_have_attribute(
        "data-done", re.compile(".")
    )


@pytest.mark.parametrize(("dark", "phone"), [(False, False), (True, False), (False, True)])
def test_the_deck_is_fit_to_be_used(
    page_as: PageAs, site: Site, axe: Any, fits: Any, dark: bool, phone: bool
) -> None:
    waiting(site, f"The garden gate closes at {18 + dark + 2 * phone} o'clock.")
    page = page_as("alice", dark=dark, phone=phone)
    opened(page, "")
    expect(page.locator(".review-effect .review-question")).to_be_visible()
    axe(page)
    fits(page)
    if not phone:
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        axe(page)
        page.keyboard.press("Escape")


def test_who_curates_nothing_is_told_so(page_as: PageAs, axe: Any) -> None:
    page = page_as("charlie")
    page.goto("/admin/review/")
    expect(page.get_by_text("Nothing to review")).to_be_visible()
    axe(page)


def test_a_proposal_is_approved_and_undone_by_the_same_keys(
    page_as: PageAs, site: Site, fits: Callable[[Any], None], axe: Callable[[Any], None]
) -> None:
    right = site.store("The ferry to the island leaves at nine in the morning.", who="bob")
    site.manage("memory", "verify", right)
    asked = {
        "successor": "The ferry to the island leaves at eight in the morning.",
        "reason": "new timetable",
    }
    queued = site.call("alice", "POST", f"memories/{right}/retract", asked)
    assert (queued["outcome"], site.memory(right)["state"]) == ("queued", "live")
    page = page_as("bob")
    opened(page, "kind=proposal")
    expect(page.locator("[data-proposed]")).to_contain_text("Proposed: Retract it")
    expect(page.locator("[data-proposed] del")).to_have_text("nine")
    expect(page.locator("[data-proposed] ins")).to_have_text("eight")
    expect(page.locator("[data-proposed]")).to_contain_text("a person verified it")
    expect(page.locator(".review-is-gone").first).to_contain_text("nine")
    fits(page)
    axe(page)
    assert decide(page, "a", "Approved") == queued["proposal"]
    assert site.memory(right)["state"] == "retracted"
    undo(page)
    found = site.call("alice", "POST", "recall", {"query": "When does the ferry leave?", "group": "ledger"})
    assert "leaves at nine" in found["results"][0]["content"]
    assert "leaves at eight" not in str(found["results"])
    decide(page, "r", "Rejected")
    undo(page)
    page.locator(".review-all input").check()
    page.locator("[data-many-verb=reject]").click()
    page.locator("[data-many-go]").click()
    expect(page.locator("[data-list] li").first).to_have_attribute("data-done", "Rejected")


def test_an_old_fact_is_asked_about_and_answered_by_key(
    page_as: PageAs, site: Site, fits: Callable[[Any], None], axe: Callable[[Any], None]
) -> None:
    text = "The door of the lighthouse is painted white."
    id_ = site.store(text, who="bob", importance=10)
    stored = f"Memory.objects.filter(id='{id_}').update(created_at=timezone.now() - timedelta(days=200))"
    imports = "from datetime import timedelta; from django.utils import timezone; from memories.models import Memory"
    site.manage("shell", "-c", f"{imports}; {stored}")
    page = page_as("bob")
    opened(page, "kind=unconfirmed&group=ledger")
    go_to(page, "door of the lighthouse")
    expect(page.locator(".review-why").first).to_contain_text("Still true? It was confirmed last on")
    expect(page.locator(".review-is-gone").first).to_contain_text("lighthouse")
    fits(page)
    axe(page)
    decide(page, "v", "Confirmed")
    assert site.memory(id_)["trust"] == "verified"
    undo(page)
    assert site.memory(id_)["trust"] == "active"
    decide(page, "n", "Retracted")
    assert site.memory(id_)["state"] == "retracted"
    undo(page)
    assert site.memory(id_)["state"] == "live"
