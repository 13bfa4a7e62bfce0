"""Pages in German and Chinese: scripts speak the language too, and axe finds nothing."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PageAs
from tests.sizes import part

Check = Callable[[Page], None]
SHOWN = {
    "de": {
        "label": "Sprache",
        "save": "Speichern",
        "saved": "Gespeichert.",
        "review": "Prüfung",
        "found": "gefunden",
    },
    "zh-hans": {"label": "语言", "save": "保存", "saved": "已保存。", "review": "审核", "found": "找到"},
}
PAGES = ("/admin/", "/admin/review/", "/admin/memories/memory/", "/admin/ask/", "/admin/memories/memory/add/")


@pytest.mark.parametrize("code", ["de", "zh-hans"])
def test_pages_and_scripts_speak_the_chosen_language(
    page_as: PageAs, axe: Check, fits: Check, code: str
) -> None:
    page, words = page_as("alice"), SHOWN[code]
    page.goto("/admin/account/")
    page.locator("#id_language").select_option(code)
    page.locator("form[action$='/preferences/'] [type=submit]").click()
    expect(page.get_by_role("status")).to_have_text(words["saved"])
    expect(page.get_by_label(words["label"])).to_have_value(code)
    axe(page)
    for path in PAGES:
        page.goto(path)
        expect(page.locator("html")).to_have_attribute("lang", code)
        if path in part(PAGES, 2, first=len(code)):  # the languages share the pages
            axe(page)
    page.goto("/admin/")
    page.keyboard.press("Control+k")
    page.locator("#palette-input").fill("coffee machine")
    expect(page.locator("#palette-note")).to_contain_text(words["found"])
    page.goto("/admin/account/")
    page.locator("#id_language").select_option("")
    page.locator("form[action$='/preferences/'] [type=submit]").click()
    expect(page.get_by_role("status")).to_have_text("Saved.")
