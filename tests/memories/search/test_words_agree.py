"""PostgreSQL finds the same words in a text as FTS5, so that both databases answer alike."""

import unicodedata
from collections import defaultdict
from contextlib import closing

import pytest

from storage.compiled_queries import fetch
from storage.sqlite.driver import DRIVER
from tests.settings import REPOSITORY

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]


def words_of_sqlite(texts: list[str]) -> list[list[str]]:
    """The words of each text as FTS5's tokenizer has them, in order."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    with closing(DRIVER.module.connect(":memory:")) as database:
        database.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter unicode61')")
        database.execute("CREATE VIRTUAL TABLE words USING fts5vocab('texts', 'instance')")
        database.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(texts))
        for term, at in database.execute('SELECT term, doc FROM words ORDER BY doc, "offset"'):
            found[at].append(term)
    return [found[at] for at in range(len(texts))]


def words_of_postgresql(texts: list[str]) -> list[list[str]]:
    """The words of each text as the keyword index has them."""
    sql = "SELECT search_words(text) FROM UNNEST(%s::text[]) WITH ORDINALITY AS asked (text, place) ORDER BY place"
    return [words for (words,) in fetch(sql, [texts])]


def test_every_letter_is_a_letter_in_both() -> None:
    """Newer letters than the tokenizer's Unicode separate words in both."""
    letters = [chr(n) for n in range(1, 0x30000) if unicodedata.category(chr(n)) != "Cs"]
    texts = [" ".join(f"x{c}x" for c in letters[at : at + 2000]) for at in range(0, len(letters), 2000)]
    assert words_of_postgresql(texts) == words_of_sqlite(texts)


def test_the_docs_have_the_same_words() -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted((REPOSITORY / "docs").rglob("*.md"))]
    assert words_of_postgresql(texts) == words_of_sqlite(texts)


@pytest.mark.parametrize(
    "text",
    [
        "Apologies for the assembly, horribly chronological: fly, logy, ably.",
        "Zürich, ŁÓDŹ, İstanbul, Việt Nam, Ελλάδος, ひらがな が 漢字 and Straße",
        "is as 0s ab " + "x" * 65 + "ing " + "y" * 3000,
        "tab\tnew\nline\x0bform\x0c \x7f under_score C++ 3.11.2 'quoted' back\\slash",
        "",
    ],
)
def test_words_that_are_hard_to_stem_agree(text: str) -> None:
    [expected] = words_of_sqlite([text])
    [found] = words_of_postgresql([text])
    assert found == [word[:400] for word in expected]
