"""Home and Ask: a question, its answer, the past, and storing what no one could answer; by hand and by keyboard."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PageAs
from tests.browser.serving import Site

pytestmark = [pytest.mark.server, pytest.mark.model]
Check = Callable[[Page], None]
ANSWERS = ".answer li"


@pytest.mark.parametrize(
    "address", ["/admin/", "/admin/ask/", "/admin/ask/?q=deploy+port&group=ledger", "/admin/ask/?q=blue+sail"]
)
def test_pages_are_accessible_and_fit(page_as: PageAs, axe: Check, fits: Check, address: str) -> None:
    for looks in ({"dark": False, "phone": False}, {"dark": True, "phone": True}):
        page = page_as("alice", **looks)
        page.goto(address)
        for folded in page.locator("main summary").all():
            folded.click()
        axe(page)
        fits(page)


def test_a_question_by_keyboard_its_numbers_and_its_link(page_as: PageAs) -> None:
    page = page_as("alice")
    page.goto("/admin/")
    page.get_by_label("Group", exact=True).select_option("ledger")
    page.get_by_label("Question").fill("what is the deploy port")
    page.keyboard.press("Enter")
    page.wait_for_url("**/admin/ask/?q=what+is+the+deploy+port&group=ledger")
    expect(page.locator(ANSWERS).first).to_contain_text("deploy")
    expect(page.locator(".answer-why").first).to_contain_text("by meaning (place 1)")
    expect(page.locator(".play-table")).to_be_hidden()
    page.locator(".answer-numbers summary").press("Enter")
    expect(page.locator(".play-table tbody tr").first).to_contain_text("deploy")
    expect(page.get_by_text("Is anything relevant?")).to_be_visible()
    again = page_as("alice")
    again.goto(page.url)
    expect(again.get_by_label("Question")).to_have_value("what is the deploy port")
    expect(again.locator(ANSWERS).first).to_contain_text("deploy")
    again.locator(f"{ANSWERS} a").first.click()
    again.wait_for_url("**/admin/memories/memory/*/change/")


def test_the_slider_asks_about_the_past(page_as: PageAs, site: Site) -> None:
    old = site.store("The walrus port is 8081.", valid_from="2026-03-01T00:00:00Z")
    site.store("The walrus port is 8443.", valid_from="2026-05-01T00:00:00Z", supersedes=old)
    page = page_as("alice")
    page.goto("/admin/ask/?q=walrus+port&group=ledger")
    expect(page.locator(ANSWERS).first).to_contain_text("8443")
    slider = page.get_by_role("slider", name="True at")
    slider.fill("20")  # of a thousand steps from before May to now
    page.wait_for_url("**as_of=2026-0*")
    expect(page.locator(ANSWERS).first).to_contain_text("8081")
    expect(page.locator(".question-past output").first).to_contain_text("2026-0")
    slider.fill("1000")
    page.wait_for_url("**/admin/ask/?q=walrus+port&group=ledger")
    expect(page.locator(ANSWERS).first).to_contain_text("8443")


def test_matches_of_all_groups_appear_while_one_types(page_as: PageAs, site: Site, axe: Check) -> None:
    site.store("The office in Łódź opens <b>in</b> May.")
    page = page_as("mia")
    page.goto("/admin/ask/")
    matches = page.get_by_role("region", name="Matches while typing")
    with page.expect_response(lambda response: "by_meaning=true" in response.url):
        page.get_by_label("Question").press_sequentially("lodz")
        expect(matches.locator("mark")).to_have_text("Łódź")
        page.keyboard.press("ArrowDown")
    expect(matches.get_by_role("link")).to_be_focused()
    expect(matches.get_by_role("link")).to_contain_text("opens <b>in</b> May")
    expect(matches.get_by_role("status")).to_contain_text("1 match in all your groups")
    axe(page)
    page.keyboard.press("ArrowUp")
    expect(page.get_by_label("Question")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/admin/memories/memory/*/change/")
    expect(page.get_by_role("main")).to_contain_text("Łódź")


def test_a_thread_is_offered_by_its_title_while_one_types(page_as: PageAs, site: Site) -> None:
    site.store("Ben: We repaint the jetty.", type="episodic", thread="harbour-meeting")
    page = page_as("mia")
    page.goto("/admin/ask/")
    page.get_by_label("Question").press_sequentially("harbour")
    found = page.get_by_role("region", name="Matches while typing").get_by_role(
        "link", name="harbour-meeting"
    )
    expect(found).to_contain_text("Thread")
    found.click()
    expect(page.get_by_role("main")).to_contain_text("We repaint the jetty.")


def test_relations_alone_are_an_answer_on_the_page(page_as: PageAs, site: Site, axe: Check) -> None:
    relation = {"subject": "Nimbus", "predicate": "run by", "object": "Tariq Noor", "group": "ledger"}
    site.call("alice", "POST", "relations", relation)
    page = page_as("mia")
    page.goto("/admin/ask/?group=ledger&q=Who+runs+Nimbus")
    expect(page.get_by_role("heading", name="Relations")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("Nimbus —run_by→ Tariq Noor")
    expect(page.get_by_role("heading", name="No answer found")).to_have_count(0)
    axe(page)


def test_a_missed_question_is_answered_from_home_in_three_pages(page_as: PageAs) -> None:
    question = "which sail fits the blue boat"
    reader = page_as("vera")
    reader.goto(f"/admin/ask/?q={question}")
    expect(reader.get_by_role("heading", name="No answer found")).to_be_visible()
    expect(reader.get_by_role("link", name="Store the answer")).to_have_count(0)
    page = page_as("mia")
    page.goto(f"/admin/ask/?q={question}")
    expect(page.get_by_role("heading", name="No answer found")).to_be_visible()
    expect(page.get_by_role("link", name="Store the answer")).to_be_visible()
    loads = list[str]()
    page.on("load", lambda shown: loads.append(shown.url))
    row = page.locator(".loci-row", has_text=question)
    for _ in range(30):  # the recall is written a moment after its answer
        page.goto("/admin/")
        if row.count():
            break
        page.wait_for_timeout(500)
    loads.clear()
    page.goto("/admin/")
    row.get_by_role("link", name="Store the answer").click()
    page.wait_for_url("**/admin/memories/memory/add/?group=ledger&question=*")
    page.locator("[name=content]").fill("The blue boat takes the small sail.")
    page.get_by_role("button", name="Save").first.click()
    expect(page.get_by_role("main")).to_contain_text("The blue boat takes the small sail.")
    page.wait_for_load_state()
    assert len(loads) <= 3, loads
    page.goto(f"/admin/ask/?q={question}")
    expect(page.locator(ANSWERS).first).to_contain_text("small sail")
