"""The forms that take a file, by keyboard and pointer."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PageAs


@pytest.mark.parametrize("address", ["/admin/sources/upload/add/", "/admin/sources/artifact/add/"])
def test_a_file_is_chosen_and_no_script_fails(page_as: PageAs, address: str) -> None:
    page = page_as("alice")
    page.goto(address, wait_until="load")
    chosen = page.get_by_label("File", exact=False).first
    chosen.set_input_files(
        {"name": "notes.md", "mimeType": "text/markdown", "buffer": b"The tea is at four."}
    )
    expect(chosen).to_have_value("C:\\fakepath\\notes.md")
    page.evaluate("() => new Promise(requestAnimationFrame)")  # a script that failed was told by now
