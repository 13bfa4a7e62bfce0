"""Gemini in Google Takeout: `MyActivity.json` of "Gemini Apps", a flat list of prompts, most with the answer as HTML.

The export knows no conversations. The word "Prompted" is in the account's language.
"""

from collections.abc import Iterator
from typing import Any, Final

from access.errors import InvalidInput
from guard.html import text_of_html
from memories.draft import Draft
from memories.types import Type
from sources.importing.drafts import tree_importer
from sources.importing.formats.chats.turns import elements_of
from sources.importing.importer import LineRules, SourceRecord, Waiting
from sources.importing.reading.file_tree import FileTree
from sources.importing.reading.json_stream import peek
from sources.importing.reading.values import dict_of, list_of, moment_of, ref_of, short_hash, text_of

_PRODUCTS: Final = frozenset({"gemini apps", "gemini", "bard"})
ENDINGS: Final = (".zip", ".json")
_NO_PROMPT: Final = "activities that are not prompts"
_NOT_PROMPTS: Final = ("Used ", "Gave feedback", "Selected preferred")


def _is_gemini(tree: FileTree) -> bool:
    """True for a list of activities of Gemini. A Takeout with HTML instead is refused with advice."""
    return any(True for _ in _activity_files(tree)) or bool(_html_files(tree))


def _html_files(tree: FileTree) -> list[str]:
    return [name for name in tree.names(".html") if "gemini" in name.lower() and "activity" in name.lower()]


def _activity_files(tree: FileTree) -> Iterator[str]:
    names = tree.names(".json")
    for name in names:
        if len(names) == 1 or name.rpartition("/")[2].lower().replace(" ", "") in (
            "myactivity.json",
            "meineaktivitäten.json",
        ):
            with tree.open(name) as file:
                if _is_activity(dict_of(peek(file, items=2).get(""))):
                    yield name


def _is_activity(item: dict[str, Any]) -> bool:
    products = [text_of(item.get("header")), *map(text_of, list_of(item.get("products")))]
    return "title" in item and "time" in item and any(name.lower() in _PRODUCTS for name in products)


def _read_gemini(tree: FileTree, rules: LineRules) -> Iterator[SourceRecord]:
    names = list(_activity_files(tree))
    if not names and _html_files(tree):
        raise InvalidInput(
            "This Takeout has its activities as HTML.", hint="Ask for JSON in Google Takeout.", field="file"
        )
    for name in names:
        yield from map(_activity_record, elements_of(tree, name))


def _activity_record(item: dict[str, Any]) -> SourceRecord:
    """One prompt. Its title begins with a word for "Prompted", which is cut off where it is known."""
    title, at = text_of(item.get("title")), text_of(item.get("time"))
    if not _is_activity(item) or not at or title.startswith(_NOT_PROMPTS):
        return SourceRecord(skipped=_NO_PROMPT)
    prompt = title.removeprefix("Prompted ").strip()
    pages = (text_of_html(text_of(dict_of(part).get("html"))) for part in list_of(item.get("safeHtmlItem")))
    lines = (" ".join(line.split()) for page in pages for line in page.splitlines())
    answer = "\n".join(filter(None, lines))
    if not prompt:
        return SourceRecord(skipped=_NO_PROMPT)
    content = f"User: {prompt}" + (f"\nAssistant: {answer}" if answer else "")
    ref = ref_of(at, short_hash(prompt))
    return SourceRecord(
        Draft(
            content,
            type=Type.EPISODIC,
            metadata={"speaker": "User"},
            source_ref=ref,
            valid_from=moment_of(at),
        )
    )


GEMINI = tree_importer(
    "gemini",
    "Gemini's activities from Google Takeout, as JSON",
    endings=ENDINGS,
    single=(*ENDINGS, ".html"),
    recognises=_is_gemini,
    read=_read_gemini,
    waiting=Waiting.FACTS,
)
