"""Removes secrets from calls in the spool: known formats are masked, texts that may hold others left out.

The spool is written without Django and without RE2, so the formats are read from the guard's data file and run by the standard
library. What that cannot run, and what only the words before it give away, is not judged but left out. Loaded only when there
is something to keep.
"""

from __future__ import annotations

import os
import re
import tomllib
from functools import partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Rule = dict[str, Any]
DATA = ("guard", "data", "secrets.toml")
LEFT_OUT = "[left out: it may hold a secret]"
MAX_CHARS = 20_000  # of one text: the standard library's patterns take no linear time
# Six characters with a letter and a digit or a sign: too short for a name in code, long enough for a password.
_VALUE = re.compile(r"(?=\S*\d)(?=\S*[^\W\d_])\S{6,}|(?=\S*[^\w\s.,;:!?'\"`()/-])(?=\S*[^\W\d_])\S{6,}")


def safe_to_keep(value: Any, rules: list[Rule] | None = None) -> Any:
    """The JSON value as it may be stored in the spool."""
    rules = read_rules() if rules is None else rules
    if isinstance(value, str):
        return _safe_text(value, rules)
    if isinstance(value, list):
        return [safe_to_keep(each, rules) for each in value]
    if isinstance(value, dict):
        return {safe_to_keep(name, rules): safe_to_keep(each, rules) for name, each in value.items()}
    return value


def _safe_text(text: str, rules: list[Rule]) -> str:
    """The text with secrets masked; a placeholder if it may hold a secret that cannot be found here."""
    if len(text) > MAX_CHARS:
        return LEFT_OUT
    lower = text.lower()
    for rule in rules:
        if not _is_announced(rule, text, lower):
            continue
        pattern = None if "guess" in rule else compiled(rule["pattern"])
        if pattern is not None:
            text = pattern.sub(partial(mask, kind=rule["kind"]), text)
        elif _VALUE.search(text):
            return LEFT_OUT
    return text


def read_rules() -> list[Rule]:
    """The guard's rules for secrets; those without a pattern last."""
    site = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - as in client.py
    inside = os.path.join(site, "_packages", *DATA)  # noqa: PTH118
    path = inside if os.path.exists(inside) else os.path.join(os.path.dirname(site), *DATA)  # noqa: PTH110, PTH118, PTH120
    with open(path, "rb") as file:  # noqa: PTH123
        rules: list[Rule] = tomllib.load(file)["rule"]
    return sorted(rules, key=lambda rule: "guess" in rule)


def _is_announced(rule: Rule, text: str, lower: str) -> bool:
    """True if the text has a word that announces the rule's secret, and any word required near it."""
    near = rule.get("near", ())
    return any(_announces(word, text, lower) for word in rule["words"]) and (
        not near or any(word in lower for word in near)
    )


def _announces(word: str, text: str, lower: str) -> bool:
    """True if the text contains the word; `re:` marks a pattern."""
    if not word.startswith("re:"):
        return word.lower() in lower
    pattern = compiled(word.removeprefix("re:"))
    return pattern is None or pattern.search(text) is not None


def compiled(source: str) -> re.Pattern[str] | None:
    """The compiled pattern; None if only RE2 can run it."""
    try:
        return re.compile(source)
    except re.error:
        return None


def mask(match: re.Match[str], kind: str) -> str:
    """The placeholder for a match, without a fingerprint, whose key is not here."""
    start, end = next((span for span in match.regs[1:] if span[0] >= 0), match.span())
    whole, shift = match.group(), match.start()
    return f"{whole[: start - shift]}[{kind}]{whole[end - shift :]}"
