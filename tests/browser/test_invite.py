"""Inviting a person in one form; their first visit by the link; ending the account."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.conftest import PageAs

Check = Callable[[Page], None]


def test_an_invited_person_chooses_a_password_and_is_in(page_as: PageAs, axe: Check, fits: Check) -> None:
    page = page_as("alice")
    page.goto("/admin/auth/user/add/")
    page.get_by_label("Name or e-mail").fill("nia@example.org")
    page.get_by_label("Role in ledger").select_option("contributor")
    axe(page)
    page.get_by_role("button", name="Invite").click()
    expect(page.get_by_role("heading", name="nia is invited").first).to_be_visible()
    axe(page)
    link = page.locator("pre.loci-code").inner_text()

    theirs = page_as(None, phone=True)
    theirs.goto(link[link.index("/invited/") :])
    axe(theirs)
    fits(theirs)
    theirs.get_by_label("Password").fill("three-green-lanterns")
    theirs.get_by_label("The same again").fill("three-green-lanterns")
    theirs.get_by_role("button", name="Save and log in").click()
    expect(theirs.get_by_role("status")).to_contain_text("Welcome!")
    expect(theirs.get_by_role("main")).to_contain_text("Ledger service (contributor)")

    page.goto("/admin/auth/user/")
    page.get_by_role("link", name="nia").click()
    axe(page)
    page.get_by_role("link", name="Deactivate and hand over").click()
    axe(page)
    page.get_by_role("button", name="Deactivate").click()
    expect(page.get_by_text("nia is deactivated.")).to_be_visible()
    theirs.goto("/app/mine/")
    expect(theirs).to_have_url("/login/?next=/app/mine/")


def test_a_question_mark_opens_the_page_of_the_documentation(
    page_as: PageAs, axe: Check, fits: Check
) -> None:
    page = page_as("alice", phone=True, dark=True)
    page.goto("/admin/explore/settings/")
    axe(page)
    fits(page)
    page.keyboard.press("?")
    page.wait_for_url("**/help/reference/settings/")
    axe(page)
    fits(page)
    page.get_by_role("link", name="Help", exact=False).first.click()
    page.get_by_role("searchbox").fill("one-time link")
    page.get_by_role("searchbox").press("Enter")
    page.get_by_role("link", name="Use the browser").click()
    expect(page.get_by_role("heading", name="My account")).to_be_visible()
