"""What a member does: logging in, searching, storing, correcting, flagging; by hand and by keyboard."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from bench.demo import PASSWORD
from tests.browser.conftest import PageAs
from tests.browser.serving import Site
from tests.browser.watching import Guard, grave_faults

Check = Callable[[Page], None]


def test_the_first_login_leads_a_member_home(page_as: PageAs) -> None:
    page = page_as(None)
    page.goto("/")
    expect(page).to_have_url("/login/")
    page.get_by_label("Name").fill("mia")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url("/admin/")
    expect(page.get_by_role("heading", name="Newest")).to_be_visible()


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
    page.goto("/admin/ask/")
    assert grave_faults(page) == []
    page.evaluate("document.querySelector('main').append(new Image())")
    assert [fault.split(":")[0] for fault in grave_faults(page)] == ["critical image-alt"]


def test_a_member_stores_corrects_and_flags(page_as: PageAs, site: Site, axe: Check) -> None:
    page = page_as("mia")
    page.goto("/admin/memories/memory/add/?group=ledger&question=What+does+the+coffee+machine+take%3F")
    expect(page.get_by_text("An agent asked: “What does the coffee machine take?”")).to_be_visible()
    axe(page)
    page.get_by_label("What should be remembered?").fill(
        "The coffee machine on floor three takes beans only."
    )
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.", exact=True)).to_be_visible()
    axe(page)
    page.get_by_role("link", name="Correct").click()
    axe(page)
    page.get_by_label("Corrected text").fill("The coffee machine on floor three takes beans and pads.")
    page.get_by_label("Reason").fill("it was replaced")
    page.get_by_role("button", name="Save the correction").click()
    expect(page.get_by_text("Corrected. The old text is listed below.")).to_be_visible()
    expect(page.locator(".memory-versions")).to_contain_text("takes beans only")

    page.get_by_role("link", name="Flag").click()
    axe(page)
    page.get_by_label("Reason").fill("pads jam it")
    page.get_by_role("button", name="Flag").click()
    expect(page.locator(".memory-origin")).to_contain_text("mia doubts it: “pads jam it”")
    now = site.memory(page.url.rstrip("/").rsplit("/", 2)[-2])
    assert now["label"] == "disputed by mia: pads jam it"
    assert (now["trust"], now["version"], now["author"]) == ("active", 2, "mia")


def test_a_fault_stands_at_its_field(page_as: PageAs, guard: Guard, axe: Check) -> None:
    guard.allow("422")
    page = page_as("mia")
    page.goto("/admin/memories/memory/add/")
    page.get_by_role("button", name="Save").click()
    field = page.get_by_label("What should be remembered?")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("alert")).to_have_text("This field is required.")
    axe(page)


def test_a_viewer_reads_and_cannot_store(page_as: PageAs, site: Site, guard: Guard, axe: Check) -> None:
    guard.allow("403")
    id_ = site.store("The printer of floor two is called Gutenberg.")
    page = page_as("vera")
    page.goto(f"/admin/memories/memory/{id_}/change/")
    expect(page.get_by_role("link", name="New memory")).to_have_count(0)
    expect(page.get_by_text("You may read this, but not change it.")).to_be_visible()
    expect(page.get_by_role("link", name="Correct")).to_have_count(0)
    for place in ("add/", f"{id_}/edit/", f"{id_}/dispute/"):
        answer = page.goto(f"/admin/memories/memory/{place}")
        assert answer is not None
        assert answer.status == 403
        axe(page)


def test_a_stranger_is_told_why_there_is_nothing_and_finds_no_foreign_memory(
    page_as: PageAs, site: Site, guard: Guard, axe: Check
) -> None:
    guard.allow("404")
    id_ = site.store("The safe opens with 4711.")
    page = page_as("charlie")
    page.goto("/admin/groups/")
    expect(page.get_by_text("You belong to no group yet")).to_be_visible()
    page.goto("/admin/ask/?q=safe")
    expect(page.get_by_text("4711")).to_have_count(0)
    axe(page)
    answer = page.goto(f"/admin/memories/memory/{id_}/change/")
    assert answer is not None
    assert answer.status == 404
    axe(page)


def test_the_keyboard_alone_searches_opens_flags_and_comes_back(page_as: PageAs, site: Site) -> None:
    site.store("Zebra crossings are repainted in May.")
    site.store("Zebra finches live in the atrium.")
    page = page_as("mia")
    page.goto("/admin/memories/memory/?mine=1")
    page.keyboard.press("g")
    page.keyboard.press("a")
    page.wait_for_url("**/admin/ask/")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("zebra")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=zebra**")
    rows = page.locator("a.loci-row")
    page.keyboard.press("j")
    expect(rows.nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("k")
    expect(rows.nth(0)).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/admin/memories/memory/*/change/")
    page.keyboard.press("f")
    page.wait_for_url("**/dispute/")
    page.go_back()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_every_page_fits_a_phone_in_the_dark(page_as: PageAs, site: Site, fits: Check, axe: Check) -> None:
    id_ = site.store(f"A long word: {'abcdefghij' * 12}")
    page = page_as("mia", phone=True, dark=True)
    at = f"memories/memory/{id_}"
    for place in (
        "",
        "ask/?q=deploy+port",
        "memories/memory/?mine=1",
        "memories/memory/add/",
        f"{at}/change/",
        f"{at}/edit/",
    ):
        page.goto(f"/admin/{place}")
        fits(page)
        axe(page)


def test_logging_out_ends_it(page_as: PageAs, axe: Check) -> None:
    page = page_as(None, dark=True)
    page.goto("/login/")
    axe(page)
    page.get_by_label("Name").fill("vera")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("Password").press("Enter")
    page.wait_for_url("**/admin/")
    page.get_by_role("button", name="Account of vera").click()
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login/")
    page.goto("/admin/account/")
    expect(page).to_have_url("/login/?next=/admin/account/")
