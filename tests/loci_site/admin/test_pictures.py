"""Screenshots in the docs: all used, none too large."""

import inspect
import re

from bench.demo.screenshots import AWAITED, DONE, IN_DOCS, PRESSED, pages
from tests.settings import REPOSITORY

DOCS = REPOSITORY / "docs"
HEAVIEST = 250_000  # bytes
BEGINS = b"\x89PNG\r\n\x1a\n"


def test_each_picture_is_there_is_light_and_stands_in_the_docs() -> None:
    there = {path.stem: path for path in (DOCS / "images").glob("*.png")}
    assert set(there) == set(IN_DOCS)
    assert {name for name, path in there.items() if not path.read_bytes().startswith(BEGINS)} == set()
    assert {name for name, path in there.items() if path.stat().st_size > HEAVIEST} == set()
    texts = [path.read_text(encoding="utf-8") for path in (REPOSITORY / "README.md", *DOCS.rglob("*.md"))]
    assert set(re.findall(r"images/([\w-]+)\.png\)", "".join(texts))) == set(IN_DOCS)


def test_what_is_done_before_a_picture_is_done_to_a_page_that_has_one() -> None:
    names = set(re.findall(r'"([\w-]+)": f?"[/{]', inspect.getsource(pages)))
    assert {re.sub(r"-(wide|phone)-(light|dark)$", "", name) for name in IN_DOCS} <= names
    assert {*PRESSED, *DONE, *AWAITED} <= names
