"""Single sign-on in a browser, with a real provider; notifications chosen, and a webhook added."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PageAs
from tests.browser.serving import Site, serving
from tests.browser.watching import Guard

with warnings.catch_warnings(record=True):  # the provider's own dependencies warn as they are imported
    from oidc_provider_mock import User as Account
    from oidc_provider_mock import run_server_in_thread

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
Check = Callable[[Page], None]
ANN = {"preferred_username": "ann", "email": "ann@example.org", "email_verified": True, "groups": ["leads"]}


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """The address of the provider."""
    with run_server_in_thread(user_claims=[Account(sub="s-ann", claims=ANN)]) as server:
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.fixture(scope="module")
def site(seeded_home: Path, provider: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """This file's own server, with a provider of its own."""
    chosen = {
        "LOCI_OIDC_ISSUER": provider,
        "LOCI_OIDC_CLIENT_ID": "loci",
        "LOCI_OIDC_CLIENT_SECRET": "a-secret",
        "LOCI_SIGN_IN_OIDC_LABEL": "Example",
        "LOCI_SIGN_IN_CREATE": "true",
        "LOCI_SIGN_IN_GROUPS": "leads=ledger:curator",
        "LOCI_MAIL_HOST": "mail.example.org",
        "LOCI_MAIL_FROM": "loci@example.org",
        "LOCI_NOTIFICATIONS_WEBHOOK_HOSTS": "127.0.0.1",
    }
    with serving(seeded_home, tmp_path_factory.mktemp("site") / "home", **chosen) as site:
        yield site


def test_a_new_person_comes_in_through_the_provider_and_chooses_mail(
    page_as: PageAs, guard: Guard, provider: str, axe: Check, fits: Check
) -> None:
    page = page_as(None, phone=True)
    guard.allow("cdn.jsdelivr.net")  # the provider's own page asks for a style sheet
    guard.allow(f"{provider}/favicon.ico")  # which it lacks; a Chromium with a window asks for it
    page.goto("/admin/account/")
    axe(page)
    fits(page)
    page.get_by_role("link", name="Log in with Example").click()
    page.get_by_role("button", name="s-ann").click()
    expect(page).to_have_url("/admin/account/")
    expect(page.get_by_text("through single sign-on")).to_be_visible()
    page.get_by_label("Something waits for review").check()
    page.locator("form", has_text="Mail to").get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_have_text("Saved.")
    expect(page.get_by_label("Something waits for review")).to_be_checked()
    page.get_by_role("button", name="Send a test mail").click()
    expect(page.get_by_role("status")).to_have_text("A test mail to ann@example.org is on its way.")
    axe(page)
    fits(page)


def test_a_superuser_adds_a_webhook_and_the_review_is_counted_live(
    page_as: PageAs, site: Site, axe: Check, fits: Check
) -> None:
    page = page_as("alice")
    page.goto("/admin/settings/notifications/")
    page.get_by_role("link", name="Add a webhook").click()
    page.get_by_label("Name").fill("team chat")
    page.get_by_label("Address").fill("http://127.0.0.1:9/hook")
    page.get_by_label("Something waits for review").check()
    axe(page)
    page.get_by_role("button", name="Add the webhook").click()
    expect(page.get_by_text("whsec_")).to_be_visible()
    page.get_by_role("link", name="Done").click()
    page.get_by_role("button", name="Test team chat").click()
    expect(page.get_by_role("row", name="A test from Loci team chat")).to_contain_text("waiting")
    axe(page)
    page.set_viewport_size({"width": 390, "height": 844})
    fits(page)
    page.set_viewport_size({"width": 1280, "height": 860})
    page.clock.install()
    page.goto("/admin/settings/notifications/")
    badge = page.locator("#nav-sidebar-apps .loci-count").first
    expect(badge).to_be_visible()
    before = badge.inner_text()
    memory = site.store("The count beside Review is read anew.")
    site.call("alice", "POST", f"memories/{memory}/dispute", {"reason": "is it?"})
    page.clock.run_for(61_000)
    expect(badge).not_to_have_text(before)
