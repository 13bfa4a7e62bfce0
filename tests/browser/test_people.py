"""The workspace: logging in, searching, storing, correcting, flagging; by hand and by keyboard."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from bench.demo import PASSWORD
from tests.browser.conftest import PageAs
from tests.browser.serving import Site
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


def test_a_member_stores_finds_corrects_and_flags(page_as: PageAs, site: Site, axe: Check) -> None:
    page = page_as("mia")
    page.goto("/app/")
    page.get_by_role("link", name="New memory").click()
    axe(page)
    page.get_by_label("What should be remembered?").fill(
        "The coffee machine on floor three takes beans only."
    )
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_have_text("Saved.")
    axe(page)

    page.get_by_role("link", name="Search", exact=True).click()
    page.get_by_role("searchbox").fill("what does the coffee machine take")
    page.get_by_role("searchbox").press("Enter")
    page.get_by_role("link", name="The coffee machine on floor three").first.click()
    page.get_by_role("link", name="Correct").click()
    axe(page)
    page.get_by_label("Corrected text").fill("The coffee machine on floor three takes beans and pads.")
    page.get_by_label("Why?").fill("it was replaced")
    page.get_by_role("button", name="Save the correction").click()
    expect(page.get_by_role("status").first).to_have_text("Corrected. The old text is listed below.")
    former = page.locator("section", has=page.get_by_role("heading", name="Old versions"))
    expect(former).to_contain_text("takes beans only")

    page.get_by_role("link", name="Flag").click()
    axe(page)
    page.get_by_label("What is wrong with it?").fill("pads jam it")
    page.get_by_role("button", name="Flag it").click()
    expect(page.get_by_role("status").first).to_have_text("Flagged. A curator will look at it.")
    now = site.memory(page.url.rstrip("/").rsplit("/", 1)[-1])
    assert now["label"] == "disputed by mia: pads jam it"
    assert (now["trust"], now["version"], now["author"]) == ("active", 2, "mia")


def test_matches_of_all_groups_appear_while_one_types(page_as: PageAs, site: Site, axe: Check) -> None:
    site.store("The office in Łódź opens <b>in</b> May.")
    page = page_as("mia")
    page.goto("/app/")
    matches = page.get_by_role("region", name="Matches while typing")
    with page.expect_response(lambda response: "by_meaning=true" in response.url):
        page.get_by_role("searchbox").press_sequentially("lodz")
        expect(matches.locator("mark")).to_have_text("Łódź")
        page.keyboard.press("ArrowDown")
    expect(matches.get_by_role("link")).to_be_focused()
    expect(matches.get_by_role("link")).to_contain_text("opens <b>in</b> May")
    expect(matches.get_by_role("status")).to_contain_text("1 match in all your groups")
    axe(page)
    page.keyboard.press("Enter")
    page.wait_for_url("**/app/memories/*/")
    expect(page.get_by_role("main")).to_contain_text("Łódź")


def test_a_thread_is_offered_by_its_title_while_one_types(page_as: PageAs, site: Site, axe: Check) -> None:
    site.store("Ben: We repaint the jetty.", type="episodic", thread="harbour-meeting")
    page = page_as("alice")
    page.goto("/app/")
    page.get_by_role("searchbox").press_sequentially("harbour")
    found = page.get_by_role("region", name="Matches while typing").get_by_role(
        "link", name="harbour-meeting"
    )
    expect(found).to_contain_text("Thread")
    axe(page)
    found.click()
    expect(page.get_by_role("main")).to_contain_text("We repaint the jetty.")
    page.goto("/admin/")
    page.keyboard.press("Control+k")
    page.keyboard.type("harbour")
    expect(page.get_by_role("option").first).to_contain_text("harbour-meeting")
    page.keyboard.press("Enter")
    page.wait_for_url("**/admin/conversations/*/")


def test_relations_alone_are_an_answer_on_the_page(page_as: PageAs, site: Site, axe: Check) -> None:
    relation = {"subject": "Nimbus", "predicate": "run by", "object": "Tariq Noor", "group": "ledger"}
    site.call("alice", "POST", "relations", relation)
    page = page_as("mia")
    for address in ("/app/?group=ledger&q=Who+runs+Nimbus", "/app/?group=ledger&q=who+runs+nimbus%3F"):
        page.goto(address)
        expect(page.get_by_role("heading", name="Relations")).to_be_visible()
        expect(page.get_by_role("main")).to_contain_text("Nimbus —run_by→ Tariq Noor")
        expect(page.get_by_role("heading", name="No answer found")).to_have_count(0)
        axe(page)


def test_a_fault_stands_at_its_field(page_as: PageAs, guard: Guard, axe: Check) -> None:
    guard.allow("422")
    page = page_as("mia")
    page.goto("/app/new/")
    page.get_by_role("button", name="Save").click()
    field = page.get_by_label("What should be remembered?")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("alert")).to_have_text("This field is required.")
    axe(page)


def test_a_question_without_an_answer_is_told_so(page_as: PageAs, axe: Check) -> None:
    page = page_as("mia")
    page.goto("/app/?q=which+sail+fits+the+blue+boat")
    expect(page.get_by_role("heading", name="No answer found")).to_be_visible()
    axe(page)


def test_a_viewer_reads_and_cannot_store(page_as: PageAs, site: Site, guard: Guard, axe: Check) -> None:
    guard.allow("403")
    id_ = site.store("The printer of floor two is called Gutenberg.")
    page = page_as("vera")
    page.goto("/app/")
    expect(page.get_by_role("link", name="New memory")).to_have_count(0)
    page.goto(f"/app/memories/{id_}/")
    expect(page.get_by_text("You may read this, but not change it.")).to_be_visible()
    expect(page.get_by_role("link", name="Correct")).to_have_count(0)
    for place in ("new/", f"memories/{id_}/correct/", f"memories/{id_}/flag/"):
        answer = page.goto(f"/app/{place}")
        assert answer is not None
        assert answer.status == 403
        axe(page)


def test_a_stranger_is_told_why_there_is_nothing_and_finds_no_foreign_memory(
    page_as: PageAs, site: Site, guard: Guard, axe: Check
) -> None:
    guard.allow("404")
    id_ = site.store("The safe opens with 4711.")
    page = page_as("charlie")
    page.goto("/app/?q=safe")
    expect(page.get_by_text("You belong to no group yet")).to_be_visible()
    expect(page.get_by_text("4711")).to_have_count(0)
    axe(page)
    answer = page.goto(f"/app/memories/{id_}/")
    assert answer is not None
    assert answer.status == 404
    axe(page)


def test_the_keyboard_alone_searches_opens_flags_and_comes_back(page_as: PageAs, site: Site) -> None:
    site.store("Zebra crossings are repainted in May.")
    site.store("Zebra finches live in the atrium.")
    page = page_as("mia")
    page.goto("/app/mine/")
    page.keyboard.press("/")
    page.wait_for_url("**/app/")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("zebra")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=zebra**")
    first, second = page.locator("a.line").nth(0), page.locator("a.line").nth(1)
    page.keyboard.press("j")
    expect(first).to_be_focused()
    page.keyboard.press("j")
    expect(second).to_be_focused()
    page.keyboard.press("k")
    expect(first).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/app/memories/*/")
    page.keyboard.press("f")
    page.wait_for_url("**/flag/")
    expect(page.get_by_label("What is wrong with it?")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    page.wait_for_url("**/app/memories/*/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_every_page_fits_a_phone_in_the_dark(page_as: PageAs, site: Site, fits: Check, axe: Check) -> None:
    id_ = site.store(f"A long word: {'abcdefghij' * 12}")
    page = page_as("mia", phone=True, dark=True)
    for place in ("", "?q=deploy+port", "mine/", "new/", f"memories/{id_}/", f"memories/{id_}/correct/"):
        page.goto(f"/app/{place}")
        fits(page)
        axe(page)


def test_logging_out_ends_it(page_as: PageAs, axe: Check) -> None:
    page = page_as(None, dark=True)
    page.goto("/login/")
    axe(page)
    page.get_by_label("Name").fill("vera")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("Password").press("Enter")
    page.wait_for_url("**/app/")
    page.get_by_role("button", name="Account of vera").click()
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login/")
    page.goto("/app/mine/")
    expect(page).to_have_url("/login/?next=/app/mine/")
