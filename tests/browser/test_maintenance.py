"""Maintenance in the browser: show, preview and undo a run; start one; back up; run the doctor."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PageAs
from tests.browser.serving import Site
from tests.browser.watching import Guard

Check = Callable[[Page], None]


@pytest.fixture(scope="module")
def run(site: Site) -> dict[str, Any]:
    """The run that the seeded store's team made over `atlas`: it wrote summaries of old events."""
    (run,) = [
        one for one in json.loads(site.manage("runs", "list", "--json"))["items"] if one["group"] == "atlas"
    ]
    assert run["counts"]["summaries"] > 1
    return run


def test_a_run_shows_its_steps_and_what_it_changed(
    page_as: PageAs, run: dict[str, Any], axe: Check, fits: Check
) -> None:
    page = page_as("alice")
    page.goto("/admin/maintenance/run/")
    page.get_by_role("link", name=f"{run['counts']['summaries']} summaries").click()
    expect(page.get_by_text(f"{run['counts']['summaries']} summaries").first).to_be_visible()
    changes = page.get_by_role("region", name="Changes of compact")
    expect(changes.get_by_text("created").first).to_be_visible()
    changes.get_by_role("link").first.click()
    expect(page).to_have_url(re.compile("/admin/memories/memory/"))
    page.go_back()
    axe(page)
    fits(page)


def test_a_cycle_is_previewed_then_run_and_taken_back(page_as: PageAs, site: Site, axe: Check) -> None:
    page = page_as("bob")
    page.goto("/admin/maintenance/run/")
    page.get_by_role("link", name="Run the cycle").click()
    page.get_by_label("Where").select_option("Ledger service")
    before = standing(site)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="What would change")).to_be_visible()
    axe(page)
    assert standing(site) == before
    page.get_by_role("button", name=re.compile("Run: change")).click()
    expect(page.get_by_text("Done: ")).to_be_visible()
    assert standing(site) != before

    page.get_by_role("button", name="Preview undo").click()
    expect(page.get_by_text("Unchanged")).to_be_visible()
    axe(page)
    assert standing(site) != before
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_text("Run undone")).to_be_visible()
    assert standing(site) == before
    expect(page.get_by_role("button", name="Preview undo")).to_have_count(0)


def standing(site: Site) -> dict[str, tuple[str, float]]:
    """State and confidence of the group's memories; decay lowers the confidence."""
    rows = site.call("alice", "GET", "memories?group=ledger&limit=100")["items"]
    return {row["id"]: (row["state"], row["confidence"]) for row in rows}


def test_a_curator_of_no_such_group_sees_neither_the_run_nor_the_groups(
    page_as: PageAs, run: dict[str, Any], guard: Guard
) -> None:
    guard.allow("404")
    page = page_as("bob")
    for part in ("change", "undo"):
        answer = page.goto(f"/admin/maintenance/run/{run['id']}/{part}/")
        assert answer is not None
        assert answer.status == 404
    page.goto("/admin/maintenance/run/begin/")
    assert page.get_by_label("Where").locator("option").all_inner_texts() == [
        "Ledger service",
        "Customer care",
    ]


def test_a_backup_is_made_and_listed(page_as: PageAs, site: Site, axe: Check) -> None:
    page = page_as("alice", dark=True)
    page.goto("/admin/maintenance/joblock/backups/")
    rows = page.get_by_role("region", name="Backups").locator("tbody tr")
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Back up now").click()
    expect(page.get_by_text("Backed up and verified")).to_be_visible()
    expect(rows).to_have_count(2)
    assert len(list((site.home / "backups").glob("*.zip"))) == 2
    axe(page)


def test_the_doctor_finds_what_is_broken_and_repairs_it(page_as: PageAs, site: Site, axe: Check) -> None:
    site.home.chmod(0o755)
    page = page_as("alice")
    page.goto("/admin/maintenance/joblock/doctor/")
    expect(page.get_by_text("Problems found")).to_be_visible()
    page.get_by_role("button", name="Repair").click()
    expect(page.get_by_text("No problems found")).to_be_visible()
    assert site.home.stat().st_mode & 0o077 == 0
    axe(page)


@pytest.mark.parametrize("place", ["joblock/", "joblock/backups/", "joblock/doctor/"])
def test_who_may_not_administer_everything_is_refused(page_as: PageAs, guard: Guard, place: str) -> None:
    guard.allow("403")
    answer = page_as("bob").goto(f"/admin/maintenance/{place}")
    assert answer is not None
    assert answer.status == 403


def test_every_page_fits_a_phone_in_the_dark(
    page_as: PageAs, run: dict[str, Any], axe: Check, fits: Check
) -> None:
    page = page_as("alice", phone=True, dark=True)
    for place in ("run/", f"run/{run['id']}/change/", "run/begin/", "joblock/backups/", "joblock/doctor/"):
        page.goto(f"/admin/maintenance/{place}")
        fits(page)
        axe(page)
