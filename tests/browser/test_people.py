"""The pages for everybody: logging in, searching, storing, correcting, flagging; by hand and by keyboard."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from bench.demo_words import PASSWORD
from tests.browser.conftest import PageAs
from tests.browser.watching import Guard, grave_faults

Check = Callable[[Page], None]


def test_the_first_login_leads_a_member_to_the_search(page_as: PageAs) -> None:
    page = page_as(None)
    page.goto("/")
    expect(page).to_have_url("/login/")
    page.get_by_label("Name").fill("mia")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url("/app/")
    expect(page.get_by_role("heading", name="Newest in Ledger service")).to_be_visible()


def test_the_guard_itself_hears_an_error_and_a_request_elsewhere(page_as: PageAs, guard: Guard) -> None:
    page = page_as(None)
    page.set_content("<img src='http://198.51.100.7/dot.png' alt=''>")
    page.evaluate("console.error('a fault')")
    assert any("a fault" in said for said in guard.left())
    assert "left the machine: http://198.51.100.7/dot.png" in guard.left()
    guard.allow("a fault|198.51.100.7")
    assert guard.left() == []


def test_axe_itself_finds_a_picture_without_words(page_as: PageAs) -> None:
    page = page_as("mia")
    page.goto("/app/")
    assert grave_faults(page) == []
    page.evaluate("document.querySelector('main').append(new Image())")
    assert [fault.split(":")[0] for fault in grave_faults(page)] == ["critical image-alt"]
