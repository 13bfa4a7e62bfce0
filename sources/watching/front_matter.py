"""Adds Loci's own keys to front matter; every other byte of the file stays.

YAML is only parsed, to find a key and to check that all other values stay; it is never serialised, which would lose quotes,
comments and order.
"""

import re
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

FENCE: Final = "---"
OWN_KEYS: Final = ("loci_id", "loci_version")
_ENDS: Final = (FENCE, "...")
_BLOCK: Final = re.compile(r"^(loci_id|loci_version):[^\n]*\n?", re.MULTILINE)


class BrokenHead(Exception):
    """The front matter is not a YAML mapping, so it is not changed."""


def head_span(text: str) -> tuple[int, int] | None:
    """Where the lines between the fences begin and end; None without front matter. A leading BOM is skipped."""
    at = 1 if text.startswith("\ufeff") else 0
    first = text.find("\n", at)
    if first < 0 or text[at:first].rstrip() != FENCE:
        return None
    start = line = first + 1
    while line < len(text):
        end = text.find("\n", line)
        stop = end if end >= 0 else len(text)
        if text[line:stop].rstrip() in _ENDS:
            return start, line
        line = stop + 1
    return None


def body_start(text: str) -> int:
    """Where the text after the front matter begins."""
    span = head_span(text)
    if span is None:
        return 1 if text.startswith("\ufeff") else 0
    end = text.find("\n", span[1])
    return end + 1 if end >= 0 else len(text)


def read_head(text: str) -> dict[str, Any]:
    """The keys of the front matter; empty without one.

    Raises:
        BrokenHead: it is not YAML, or not keys with values.
    """
    span = head_span(text)
    if span is None:
        return {}
    try:
        found = YAML(typ="rt").load(text[slice(*span)].replace("\r\n", "\n"))
    except (YAMLError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise BrokenHead(describe(error)) from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise BrokenHead("it has no keys")
    return found


def describe(error: Exception) -> str:
    """The error in the front matter, on one line."""
    mark = getattr(error, "problem_mark", None)
    where = f" in line {mark.line + 2}" if mark is not None else ""
    return f"{getattr(error, 'problem', None) or 'it is not YAML'}{where}"


def with_own_keys(text: str, values: dict[str, str]) -> str:
    """The text with these keys in its front matter and nothing else changed. Without front matter it is unchanged.

    Raises:
        BrokenHead: the front matter does not parse, or would say something else then.
    """
    span = head_span(text)
    if span is None:
        return text
    before = read_head(text)
    start, end = span
    newline = "\r\n" if text[:start].endswith("\r\n") else "\n"
    kept = _BLOCK.sub("", text[start:end]) if before.keys() & set(OWN_KEYS) else text[start:end]
    if kept and not kept.endswith("\n"):
        kept += newline
    added = "".join(f"{name}: {value}{newline}" for name, value in values.items())
    after = text[:start] + kept + added + text[end:]
    if foreign(read_head(after)) != foreign(before):
        raise BrokenHead("Loci's keys do not fit into it")
    return after


def foreign(head: dict[str, Any]) -> dict[str, Any]:
    """The keys that are not Loci's."""
    return {name: value for name, value in head.items() if name not in OWN_KEYS}
