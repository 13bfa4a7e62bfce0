"""Reads the texts of the browser's pages, and makes the files with their translations.

Texts come from templates, Python, the scripts of pages, unfold's templates and the words that are stored (`words.py`).
"""

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import django
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import DEFAULT_KEYWORDS, extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.apps import apps
from django.utils.translation.template import templatize

from access.actor import Via
from access.admin.columns import INTERFACE, WORD
from bench.i18n.words import PACKAGES, setting_meanings, stored_words
from memories.models import LinkKind
from memories.types import State, Trust, Type

ROOT = Path(__file__).resolve().parents[2]
LOCALE = ROOT / "loci_site" / "locale"
SCRIPTS = ROOT / "loci_site" / "static" / "loci"
WORDS = SCRIPTS / "words"  # the words of scripts, one file for each language
LANGUAGES = {"de": "de", "zh_Hans": "zh-hans"}  # folder and code
KEYWORDS = {
    **DEFAULT_KEYWORDS,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext_lazy": (1, 2),
    "pgettext_lazy": ((1, "c"), 2),
}
# Texts of unfold's pages that Loci does not have: deleting, histories, its own search and login.
UNUSED = frozenset(
    {"View on site", "Expand row", "Welcome back to", "Date/time", "Record picture", "Return to site",
     "Recent searches", "No recent searches", "No results matching your query", "Loading more results...", "Image preview",
     "Search apps and models...", "Filter navigation items", "All applications", "Recent actions", "Unknown content",
     "This item will be deleted.", "Click to cancel", "Click to download", "View site", "Django administration",
     "Forgotten your password or username?", "Log in again", "No, take me back", "Yes, I’m sure", "Objects",
     "You have been successfully logged out from the administration", "entry", "Save and view", "Save as new",
     "This page yielded into no results. Create a new item or reset your filters.", "No results found", "Reset filters",
     "\n                Found %(counter)s result in %(time)s seconds\n            ",
     "This object doesn’t have a change history. It probably wasn’t added via this admin site.",
     "Are you sure you want to delete the selected %(objects_name)s? All of the following objects and their related items will be deleted:",
     "Thanks for spending some quality time with the web site today."}
)  # fmt: skip
# Texts of unfold's Python code.
UNFOLD_CODE = ("Select action to run", "Select action", "Select value")
DATE = datetime(
    2026, 11, 23, tzinfo=UTC
)  # in the header of every .mo: a real one would change with each build
HOLDER = re.compile(r"%\(\w+\)s|\{[^{}]*\}")
SCRIPT_CALL = re.compile(r"(?<![\w.$])(?:window\.)?(?:t|lociText)\(")
SCRIPT_TOKEN = re.compile(r'(?P<string>"(?:[^"\\\n]|\\.)*")|[?,(){}\[\]]')
SCRIPT = """// Written by `python -m bench.i18n` from loci_site/locale: the words of the pages' scripts. Do not edit.
"use strict";
(() => {{
    const texts = {texts}, words = {words};
    const fill = (text, values) => text.replace(/\\{{(\\w+)\\}}/g, (all, name) => (Object.hasOwn(values, name) ? values[name] : all));
    window.lociText = (text, values = {{}}) => fill(texts[text] ?? text, values);
    window.lociText.word = (word) => words[word] ?? word;
}})();
"""


def extracted() -> Catalog:
    """Every text of the pages, without translations."""
    found = Catalog(project="Loci", fuzzy=False)
    for path, messages in (*from_python(), *from_templates(), *from_scripts()):
        for line, message, comments, context in messages:
            found.add(message, None, [(path, line)], auto_comments=comments, context=context)
    for text in (*UNFOLD_CODE, *setting_meanings()):
        found.add(text)
    for word in sorted(stored_words()):
        found.add(word, context=WORD)
    for via in Via:
        found.add(via.value, context=INTERFACE)
    return found


def from_python() -> Iterator[tuple[str, list[tuple]]]:
    """The texts of each module."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" not in path.parts:
                yield relative(path), parsed(path.read_bytes())


def from_templates() -> Iterator[tuple[str, list[tuple]]]:
    """The texts of our templates, and of those of unfold, which comes without translations."""
    unfold = Path(apps.get_app_config("unfold").path) / "templates"
    for folder in (ROOT / "templates", unfold):
        for path in sorted(folder.rglob("*.html")):
            name = relative(path) if folder != unfold else f"unfold/{path.relative_to(unfold)}"
            code = templatize(path.read_text(encoding="utf-8"), origin=name)
            # In parentheses Python minds no indentation.
            found = parsed(f"({code})".encode())
            yield name, [each for each in found if folder != unfold or is_ours(each[1])]


def is_ours(text: str | tuple[str, ...]) -> bool:
    """Whether a text of unfold is shown here and not translated by Django."""
    first = text if isinstance(text, str) else text[0]
    return first not in UNUSED and first not in django_texts()


@lru_cache(maxsize=1)
def django_texts() -> frozenset[str]:
    """The texts that Django's own catalogues translate."""
    contrib = Path(django.__file__).parent
    texts = set()
    for folder in (contrib / "conf", contrib / "contrib" / "admin", contrib / "contrib" / "auth"):
        with (folder / "locale" / "de" / "LC_MESSAGES" / "django.po").open("rb") as file:
            texts |= {
                message.id if isinstance(message.id, str) else message.id[0] for message in read_po(file)
            }
    return frozenset(texts)


def from_scripts() -> Iterator[tuple[str, list[tuple]]]:
    """The texts of the pages' scripts: the first argument of `t()` and of `lociText()`."""
    for path in sorted(SCRIPTS.glob("*.js")):
        yield relative(path), [(1, text, [], None) for text in texts_in_script(path.read_text("utf-8"))]


def texts_in_script(code: str) -> list[str]:
    """The texts that a script shows; of a choice such as `t(isOne ? "1 match" : "{count} matches")`, both."""
    found = []
    for call in SCRIPT_CALL.finditer(code):
        depth = 0
        first: list[str] = []
        for token in SCRIPT_TOKEN.finditer(code, call.end()):
            if token["string"] is not None:
                # In brackets of its own, a string is part of an expression, not a text.
                first += [] if depth else [json.loads(token["string"])]
            elif token[0] in ",)" and not depth:
                break
            elif token[0] == "?":
                first = first if depth else []  # strings of the condition
            else:
                depth += {"(": 1, "[": 1, "{": 1}.get(token[0], -1)
        found += first
    return found


def parsed(code: bytes) -> list[tuple]:
    """The texts of Python code as (line, message, comments, context)."""
    return [*extract("python", io.BytesIO(code), KEYWORDS, options={"encoding": "utf-8"})]


def relative(path: Path) -> str:
    """The path inside the repository."""
    return path.relative_to(ROOT).as_posix()


def po_path(folder: str) -> Path:
    """The catalogue of a language."""
    return LOCALE / folder / "LC_MESSAGES" / "django.po"


def read_catalogue(folder: str) -> Catalog:
    """The catalogue as people edited it; empty for a new language."""
    path = po_path(folder)
    if not path.exists():
        return Catalog(locale=folder, project="Loci", fuzzy=False)
    with path.open("rb") as file:
        return read_po(file, locale=folder)


def updated(folder: str, template: Catalog) -> Catalog:
    """The catalogue with all texts of today; translations of texts that are gone are dropped."""
    catalogue = read_catalogue(folder)
    catalogue.update(template, no_fuzzy_matching=True)
    catalogue.obsolete.clear()
    catalogue.creation_date = catalogue.revision_date = DATE
    return catalogue


def missing(catalogue: Catalog) -> list[str]:
    """Texts without a translation, and translations whose placeholders differ."""
    faults = []
    for message in catalogue:
        if not message.id:
            continue
        strings = message.string if isinstance(message.string, tuple) else (message.string,)
        ids = message.id if isinstance(message.id, tuple) else (message.id,)
        if not all(strings):
            faults.append(f"no translation: {ids[0]}")
        elif any(holders(text) not in [holders(each) for each in ids] for text in strings):
            faults.append(f"other placeholders: {ids[0]}")
        elif message.fuzzy:
            faults.append(f"fuzzy: {ids[0]}")
    return faults


def holders(text: str) -> set[str]:
    """The placeholders of a text."""
    return set(HOLDER.findall(text))


def po_text(catalogue: Catalog) -> bytes:
    """The catalogue as a file: sorted, without dates and line numbers, which would change with every edit."""
    made = io.BytesIO()
    for message in catalogue:
        message.locations = sorted({(path, None) for path, _ in message.locations})[:3]
    write_po(
        made,
        catalogue,
        width=110,
        sort_output=True,
        omit_header=False,
        include_lineno=False,
        ignore_obsolete=True,
    )
    lines = made.getvalue().decode().splitlines(keepends=True)
    dated = ("POT-Creation-Date", "PO-Revision-Date", "Generated-By", "Last-Translator")
    return "".join(
        line for line in lines if not line.startswith(tuple(f'"{name}' for name in dated))
    ).encode()


@dataclass(frozen=True)
class _Unsigned:
    """A catalogue without the version of Babel in its header, for write_mo(): another release makes the same file."""

    catalogue: Catalog

    @property
    def charset(self) -> str:
        return self.catalogue.charset

    def __iter__(self) -> Iterator[Message]:
        header, *messages = self.catalogue
        lines = header.string.splitlines(keepends=True)
        header.string = "".join(line for line in lines if not line.startswith("Generated-By"))
        return iter([header, *messages])


def mo_bytes(catalogue: Catalog) -> bytes:
    """The compiled catalogue."""
    made = io.BytesIO()
    write_mo(made, _Unsigned(catalogue))
    return made.getvalue()


def script_text(catalogue: Catalog | None) -> str:
    """The script with the words of scripts in a language; None: English."""
    texts: dict[str, str] = {}
    words: dict[str, str] = {}
    shown_by_scripts = script_texts()
    for message in catalogue or ():
        if message.context == WORD:
            words[message.id] = message.string
        elif message.context is None and message.id in shown_by_scripts:
            texts[message.id] = message.string
    shown = {"ensure_ascii": False, "sort_keys": True, "separators": (",", ":")}
    used = {word: words[word] for word in sorted(words) if word in script_words()}
    return SCRIPT.format(texts=json.dumps(texts, **shown), words=json.dumps(used, **shown))


def script_texts() -> frozenset[str]:
    """The texts that the scripts of pages have."""
    return frozenset(text for _, messages in from_scripts() for _, text, _, _ in messages)


def script_words() -> set[str]:
    """The stored words that scripts show: types, states, trusts, and what ties memories in a graph."""
    return {str(value) for kind in (State, Trust, Type, LinkKind) for value in kind} | {"mention", "relation"}


def outputs() -> dict[Path, bytes]:
    """Every file that this program writes."""
    template = extracted()
    made: dict[Path, bytes] = {WORDS / "en.js": script_text(None).encode()}
    for folder, code in LANGUAGES.items():
        catalogue = updated(folder, template)
        made[po_path(folder)] = po_text(catalogue)
        made[po_path(folder).with_suffix(".mo")] = mo_bytes(catalogue)
        made[WORDS / f"{code}.js"] = script_text(catalogue).encode()
    return made


def stale_files() -> dict[Path, bytes]:
    """The files that differ from what they should be, with their contents."""
    made = outputs()
    return {path: text for path, text in made.items() if not path.exists() or path.read_bytes() != text}


def faults() -> list[str]:
    """What is missing or wrong in the catalogues on disk, by language."""
    return [f"{folder}: {fault}" for folder in LANGUAGES for fault in missing(read_catalogue(folder))]
