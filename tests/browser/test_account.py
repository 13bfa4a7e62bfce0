"""Accounts: invite a person and end the account; connect an agent, change preferences and the password, log out elsewhere."""

import urllib.request
from collections.abc import Callable

from playwright.sync_api import Page, expect

from bench.demo import PASSWORD
from tests.browser.conftest import PageAs
from tests.browser.serving import Site

Check = Callable[[Page], None]


def test_a_member_connects_an_agent_and_revokes_its_token(page_as: PageAs, site: Site, axe: Check) -> None:
    page = page_as("mia")
    page.goto("/admin/")
    page.get_by_role("button", name="Account of mia").click()
    page.get_by_role("link", name="My account").click()
    axe(page)
    page.get_by_role("link", name="Connect your client").click()
    page.get_by_label("Your client").select_option("codex")
    axe(page)
    page.get_by_role("button", name="Show the line").click()
    expect(page.get_by_label("With Python", exact=True)).to_contain_text(" codex ")
    axe(page)
    page.get_by_role("link", name="Done").click()
    page.get_by_role("link", name="Make a token").click()
    page.get_by_label("Name").fill("laptop")
    page.get_by_label("Client", exact=True).select_option("Claude Code")
    axe(page)
    page.get_by_role("button", name="Create the token").click()
    page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; }")
    page.get_by_role("button", name="Copy: Claude Code").click()
    expect(page.get_by_role("button", name="Copy: Claude Code")).to_have_text("Copied")
    secret = page.evaluate("copied").partition("Bearer ")[2].strip('"')
    axe(page)
    request = urllib.request.Request(f"{site.url}/api/groups", headers={"Authorization": f"Bearer {secret}"})
    with urllib.request.urlopen(request) as answer:
        assert "ledger" in answer.read().decode()
    page.get_by_role("link", name="Done").click()
    page.goto("/admin/account/")
    page.get_by_role("link", name="laptop").click()
    page.get_by_role("link", name="Revoke").click()
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("status")).to_have_text("The token 'laptop' is revoked.")


def test_preferences_and_a_new_password(page_as: PageAs, axe: Check, fits: Check) -> None:
    page, elsewhere = page_as(None, phone=True), page_as("vera")
    page.goto("/login/")
    page.get_by_label("Name").fill("vera")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.goto("/admin/account/")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_label("Theme").select_option("dark")
    page.get_by_label("Time zone").select_option("Asia/Tokyo")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_have_text("Saved.")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    fits(page)
    axe(page)
    page.get_by_role("link", name="Change the password").click()
    axe(page)
    page.locator("#id_old_password").fill(PASSWORD)
    page.locator("#id_new_password1").fill("three-green-lanterns")
    page.locator("#id_new_password2").fill("three-green-lanterns")
    page.get_by_role("button", name="Change the password").click()
    expect(page.get_by_role("status")).to_contain_text("Your password is changed.")
    elsewhere.goto("/admin/account/")
    expect(elsewhere).to_have_url("/login/?next=/admin/account/")


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
    theirs.goto("/admin/account/")
    expect(theirs).to_have_url("/login/?next=/admin/account/")


def test_the_keys_lead_to_the_page_of_the_documentation(page_as: PageAs, axe: Check, fits: Check) -> None:
    page = page_as("alice", phone=True, dark=True)
    page.goto("/admin/settings/instance/")
    axe(page)
    fits(page)
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keyboard shortcuts").get_by_role(
        "link", name="Help for this page"
    ).click()
    page.wait_for_url("**/admin/help/reference/settings/")
    axe(page)
    fits(page)
    page.get_by_role("heading", level=1).first.get_by_role("link", name="Help").click()
    page.get_by_role("searchbox").fill("one-time link")
    page.get_by_role("searchbox").press("Enter")
    page.get_by_role("link", name="People and rights: invite a colleague, limit an agent").first.click()
    expect(
        page.get_by_role("heading", name="People and rights: invite a colleague, limit an agent").first
    ).to_be_visible()
