"""Blocks of a file: consecutive lines that belong together, with their heading. Pure functions."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sources.models import FileKind
from sources.sections import headed_lines

MAX_HEADING_CHARS: Final = 300
SEPARATOR: Final = " › "
# The line that begins a function, type or statement in most languages.
_DEFINES: Final = re.compile(
    r"^\s*(?:(?:export|default|pub(?:\([a-z]+\))?|public|private|protected|internal|static|final|abstract|async|unsafe|open"
    r"|override|sealed|data|virtual|inline|extern|const)\s+)*"
    r"(?:(?:def|class|func|function|fn|fun|interface|struct|enum|trait|impl|module|namespace|type|object|record|protocol"
    r"|CREATE(?:\s+OR\s+REPLACE)?\s+(?:TABLE|VIEW|FUNCTION|INDEX|TRIGGER|PROCEDURE))\s+)+([\w.$<>:]+)",
    re.I,
)
_CLOSES: Final = re.compile(
    r"^\s*(?:[\])}>;,]|end\b|else\b|elif\b|except\b|finally\b|catch\b|\*/|fi\b|done\b)"
)
COMMENTS: Final = ("//", "#", "/*", "*", "--", "@")  # with the decorators of most languages
_SECTION: Final = re.compile(r"^\s*\[+([^\]]+)\]+\s*$")  # of TOML and INI


@dataclass(frozen=True)
class FileText:
    """The text of a file as lines. `headings` names places by line number (1 is the first): pages of a PDF."""

    lines: list[str]
    headings: dict[int, str] = field(default_factory=dict)


class Block(NamedTuple):
    """Lines `start` to `end` (from 0, end excluded) under a heading; `is_whole`: not to be joined with the next block."""

    start: int
    end: int
    heading: str = ""
    is_whole: bool = False


def blocks_of(kind: FileKind, lines: Sequence[str], headings: Mapping[int, str], path: str) -> list[Block]:
    """The blocks of a file; together they cover all its lines."""
    match kind:
        case FileKind.MARKDOWN | FileKind.DOCX:
            found = [*_markdown_blocks(lines)]
        case FileKind.PDF:
            found = [*_page_blocks(lines, headings)]
        case FileKind.CODE:
            found = _python_blocks(lines) if path.endswith((".py", ".pyi")) else [*_code_blocks(lines)]
        case _:
            found = [*paragraphs(lines, 0, len(lines))]
    return found


def _markdown_blocks(lines: Sequence[str]) -> Iterator[Block]:
    """A block per paragraph, under the path of its headings; a heading begins a new one. Front matter is one block."""
    start = _end_of_front_matter(lines)
    if start:
        yield Block(0, start, "front matter", is_whole=True)
    for path, first, last in headed_lines(lines, start):
        yield from paragraphs(lines, first - bool(path), last, SEPARATOR.join(path)[-MAX_HEADING_CHARS:])


def _end_of_front_matter(lines: Sequence[str]) -> int:
    if not lines or lines[0].rstrip() != "---":
        return 0
    return next((at + 1 for at, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), 0)


def paragraphs(lines: Sequence[str], start: int, end: int, heading: str = "") -> Iterator[Block]:
    """The paragraphs between two lines, with the empty lines after each."""
    began = start
    for at in range(start + 1, end):
        if lines[at].strip() and not lines[at - 1].strip():
            yield Block(began, at, heading)
            began = at
    if began < end:
        yield Block(began, end, heading)


def _page_blocks(lines: Sequence[str], headings: Mapping[int, str]) -> Iterator[Block]:
    starts = sorted(headings)
    for first, last in zip(starts, [*starts[1:], len(lines) + 1], strict=True):
        yield from paragraphs(lines, first - 1, last - 1, headings[first])


def _python_blocks(lines: Sequence[str]) -> list[Block]:
    """Functions and classes by the syntax tree, a class's methods apart; as other code if it does not parse."""
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [*_code_blocks(lines)]
    starts: dict[int, str] = {}

    def visit(body: Sequence[ast.stmt], above: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1
                name = f"{above}{'class' if isinstance(node, ast.ClassDef) else 'def'} {node.name}"
                starts.setdefault(_with_comments(lines, first, "#"), name)
                if isinstance(node, ast.ClassDef):
                    visit(node.body, f"{name}{SEPARATOR}")
            elif node.end_lineno is not None and not above:
                starts.setdefault(node.lineno - 1, "")

    visit(tree.body, "")
    return _split_at(lines, starts)


def _with_comments(lines: Sequence[str], first: int, marks: str | tuple[str, ...]) -> int:
    """The first of the lines of comments above a line."""
    while first and lines[first - 1].lstrip().startswith(marks):
        first -= 1
    return first


def _code_blocks(lines: Sequence[str]) -> Iterator[Block]:
    """Blocks of other code: a new one where a line without indentation follows an empty line, or defines something."""
    starts: dict[int, str] = {}
    for at, line in enumerate(lines):
        if not line.strip() or _CLOSES.match(line):
            continue
        defined, section = _DEFINES.match(line), _SECTION.match(line)
        indent = len(line) - len(line.lstrip())
        is_apart = at == 0 or not lines[at - 1].strip()
        if defined and (indent == 0 or (is_apart and indent <= 8)):
            starts[_with_comments(lines, at, COMMENTS)] = " ".join(line.split())[:120]
        elif section:
            starts[at] = section[1].strip()[:120]
        elif is_apart and indent == 0:
            starts.setdefault(at, "")
    yield from _split_at(lines, starts)


def _split_at(lines: Sequence[str], starts: Mapping[int, str]) -> list[Block]:
    """Blocks that begin at these lines; a named one is not joined with others."""
    cuts = sorted({0, *starts})
    ends = [*cuts[1:], len(lines)]
    return [
        Block(first, last, starts.get(first, ""), is_whole=bool(starts.get(first)))
        for first, last in zip(cuts, ends, strict=True)
        if first < last
    ]
