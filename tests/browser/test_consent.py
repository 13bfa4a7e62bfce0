"""The consent page of OAuth: nothing but the rights is chosen beforehand, and the answer goes to the program alone."""

import json
import re
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PageAs
from tests.browser.serving import Site, serving
from tests.browser.watching import Guard
from tests.loci_site.oauth.conftest import CHALLENGE

BACK = "http://127.0.0.1:3334/callback"


@pytest.fixture(scope="module")
def site(seeded_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server that offers OAuth."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCI_OAUTH", "1")
        with serving(seeded_home, tmp_path_factory.mktemp("site") / "home") as site:
            yield site


@pytest.fixture(scope="module")
def program(site: Site) -> str:
    """The id of a program that has registered itself."""
    body = {"client_name": "Field notes", "redirect_uris": [BACK], "token_endpoint_auth_method": "none"}
    request = urllib.request.Request(
        f"{site.url}/oauth/register/", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(json.load(answer)["client_id"])


def address(site: Site, program: str, **changes: str) -> str:
    fields = {
        "response_type": "code",
        "client_id": program,
        "redirect_uri": BACK,
        "scope": "read write",
        "state": "st4te",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "resource": f"{site.url}/mcp",
    } | changes
    return f"/oauth/authorize/?{urllib.parse.urlencode(fields)}"


def test_a_person_chooses_the_groups(
    page_as: PageAs, site: Site, program: str, axe: Callable[[Page], None]
) -> None:
    page = page_as("bob")
    page.goto(address(site, program))
    expect(page.get_by_role("heading", name="Allow “Field notes” to use your memories?")).to_be_visible()
    groups = page.locator("input[name=groups]")
    assert groups.count() == 2
    for box in [*groups.all(), page.locator("input[name=everywhere]")]:
        expect(box).not_to_be_checked()
    for box in page.locator("input[name=rights]").all():
        expect(box).to_be_checked()
    axe(page)
    page.get_by_role("button", name="Allow").click()
    expect(page.get_by_text("Choose at least one group, or every group.")).to_be_visible()
    page.locator("input[name=groups][value=ledger]").check()
    with page.expect_request(re.compile(re.escape(BACK) + r"\?.*code=")):  # no one listens there
        page.get_by_role("button", name="Allow").click()
    tokens = json.loads(site.manage("token", "list", "--json"))
    made = next(token for token in tokens if token["name"] == "Field notes")
    assert (made["groups"], made["scopes"]) == (["ledger"], ["read", "write"])
    assert made["reaches"] == [{"group": "ledger", "role": "curator", "may": ["read", "write"]}]


def test_a_request_that_cannot_be_allowed_is_not_asked_about(
    page_as: PageAs, site: Site, program: str, guard: Guard
) -> None:
    page = page_as("bob")
    sent_back = page.request.get(address(site, program, code_challenge_method="plain"), max_redirects=0)
    assert sent_back.status == 302
    assert re.match(re.escape(BACK) + r"\?.*error=invalid_request", sent_back.headers["location"])
    guard.allow("400")
    answer = page.goto(address(site, program, redirect_uri="https://x; script-src-elem *; frame-ancestors *"))
    assert answer is not None
    assert (answer.status, answer.headers["content-security-policy"].count("frame-ancestors")) == (400, 1)
    expect(page.get_by_text("nothing was allowed")).to_be_visible()
