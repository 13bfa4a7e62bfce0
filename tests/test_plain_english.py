"""Plain English: what docs, docstrings, comments and messages may not say; quotations and names in code are left out."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from bench.proof.proof import REPOSITORY

ROOMS = (
    "storage",
    "guard",
    "access",
    "relations",
    "memories",
    "sources",
    "maintenance",
    "loci_site",
    "docs",
    "templates",
    "clients",
)
LEFT_OUT = (
    "docs/dev/decisions.md",  # quotes
    "docs/dev/proof.md", "docs/reference/",  # made from the code of other rooms
    "loci_site/locale/", "loci_site/static/",
)  # fmt: skip
BANNED = {
    "somebody, nobody: name the person, actor or client": r"\b(?:some|no)body\b",
    "beside: next to, besides, alongside": r"\bbeside\b",
    "is no …: is not a …": r"(?<!there )\b(?:is|are) no (?!longer\b|more\b|less\b|better\b|nearer\b)\w",
    "a sentence that begins with Give": r'(?-i:(?:\A"{0,3}|[.;:] )Gives? )',
}


def places() -> Iterator[tuple[str, str]]:
    """Each file of the rooms with its prose."""
    for room in ROOMS:
        for path in sorted((REPOSITORY / room).rglob("*")):
            name = path.relative_to(REPOSITORY).as_posix()
            if path.suffix in PROSE and not name.startswith(LEFT_OUT) and "/migrations/" not in name:
                yield name, path.read_text(encoding="utf-8")


def prose_of_python(text: str) -> Iterator[str]:
    """Comments, docstrings, and strings of several words; without the code that they quote."""
    yield from (re.sub(r"`[^`]*`", "", piece) for piece in texts_of_python(text))


def texts_of_python(text: str) -> Iterator[str]:
    """Comments, docstrings, and strings of several words."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield f'"""{ast.get_docstring(node)}'
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.value


def prose_of_markdown(text: str) -> Iterator[str]:
    """The paragraphs without code and without quotations."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    yield from re.sub(r"`[^`]*`|“[^”]*”|\"[^\"\n]*\"|\*[^*\n]+\*", "", text).split("\n\n")


def prose_of_template(text: str) -> Iterator[str]:
    """What is shown, and the texts of tags."""
    yield re.sub(
        r"<[^>{}]*>",
        " ",
        re.sub(r"\{\{.*?\}\}|\{% (?:if|for|with|endfor) .*?%\}|class=\"[^\"]*\"", " ", text),
    )


PROSE = {".py": prose_of_python, ".md": prose_of_markdown, ".html": prose_of_template}


@cache
def pieces() -> tuple[tuple[str, str], ...]:
    """Each piece of prose on one line, after its file's name; read once for all patterns."""
    return tuple(
        (name, re.sub(r"\s+", " ", piece))
        for name, text in places()
        for piece in PROSE[Path(name).suffix](text)
    )


@pytest.mark.parametrize("why", BANNED)
def test_nothing_banned_is_said(why: str) -> None:
    pattern = re.compile(BANNED[why], re.I)
    found = [
        f"{name}: {piece[max(0, hit.start() - 40) : hit.end() + 40]!r}"
        for name, piece in pieces()
        for hit in pattern.finditer(piece)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("said", "is_banned"),
    [
        ("Nobody knows its secret.", True),
        ("There is no such group.", False),
        ("It is no valid TOML.", True),
        ("It is no longer its parent.", False),
        ('"""Give the group\'s slug.', True),
        ("The text beside the button.", True),
        ("No one asked besides them.", False),
    ],
)
def test_what_counts_as_banned(said: str, *, is_banned: bool) -> None:
    assert any(re.search(pattern, said, re.I) for pattern in BANNED.values()) == is_banned
