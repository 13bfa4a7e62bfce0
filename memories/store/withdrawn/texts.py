"""Texts without a review state, such as checkpoints, instructions and names: refused where they repeat a withdrawn text."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from access.actor import Actor
from access.errors import Conflict
from access.models import Group
from memories.draft import Draft
from memories.language.dress import undressed
from memories.store.withdrawn.marks import Withdrawn, find_all_withdrawn, read_marks
from memories.types import Scope

_LINE_END = re.compile(r"[\n\r\v\f\u0085\u2028\u2029\t|]+")
_TAG = re.compile(r"<[^<>\n]{1,300}>")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？।])\s+")
_CLAUSE_END = re.compile(r"\s*[;；]\s*")
_LABEL_END = re.compile(r"(?:(?<=[:：])\s+|：)")
LABELS: Final = (
    "thread",
    "source",
    "source_ref",
    "tags",
    "metadata",
    "anchor_commit",
)  # of a draft: agents read them in answers
MAX_LABELS: Final = 3  # before a sentence: "Open: note: …"
MAX_JSON_DEPTH: Final = 5  # of JSON in strings of JSON


def refuse_withdrawn_texts(
    actor: Actor, group: Group, value: Any, *, field: str, scope: str = Scope.GROUP, is_whole: bool = False
) -> None:
    """Raise Conflict if a string in a JSON value is, or states, a text that was withdrawn in the group.

    It names the path, such as `state.notes[2]`. In other dress counts too, since nobody would be asked about it.
    `is_whole`: only strings that are the text as a whole, and not in other dress.
    """
    if not value or not read_marks(group.key).exact:
        return
    parts = [
        (path, text)
        for path, text in strings_in(value, field)
        if not is_whole or undressed(text)  # a word that was withdrawn may still be a tag
    ]
    found = find_all_withdrawn(((group.key, scope, text) for _, text in parts), is_whole=is_whole)
    for (path, _), withdrawn in zip(parts, found, strict=True):
        if withdrawn is not None and (withdrawn.is_refused or not is_whole):
            raise repeated_text(actor, withdrawn, path=path, field=field)


def refuse_withdrawn_reason(actor: Actor, group: Group, reason: str) -> None:
    """Raise Conflict if the reason of a change is a text that was withdrawn in the group."""
    refuse_withdrawn_texts(actor, group, reason, field="reason", is_whole=True)


def refuse_withdrawn_labels(
    actor: Actor, group: Group, draft: Draft, *, names: Iterable[str] = LABELS
) -> None:
    """Raise Conflict if one of these fields of a memory holds a text that was withdrawn in the group."""
    for name in names:
        refuse_withdrawn_texts(actor, group, getattr(draft, name), field=name, is_whole=True)


def find_withdrawn_labels(drafts: Sequence[tuple[Group, Draft]]) -> list[tuple[str, Withdrawn] | None]:
    """The first field beside each draft's text that is a withdrawn text, with its path; at most two queries."""
    asked = [
        (number, group.key, path, text)
        for number, (group, draft) in enumerate(drafts)
        if read_marks(group.key).exact
        for name in LABELS
        for path, text in strings_in(getattr(draft, name), name)
        if name == "thread" or undressed(text)
    ]
    repeated: list[tuple[str, Withdrawn] | None] = [None] * len(drafts)
    if asked:
        found = find_all_withdrawn(((group, Scope.GROUP, text) for _, group, _, text in asked), is_whole=True)
        for (number, _, path, _), withdrawn in zip(asked, found, strict=True):
            if withdrawn is not None and (withdrawn.is_refused or path == "thread"):
                repeated[number] = repeated[number] or (path, withdrawn)
    return repeated


def repeated_text(actor: Actor, withdrawn: Withdrawn, *, path: str, field: str) -> Conflict:
    """The error of a value that repeats a withdrawn text."""
    return Conflict(
        f"'{path}' repeats a withdrawn text: {withdrawn.describe(actor)}", hint="Leave it out.", field=field
    )


def check_group_text(actor: Actor, group: Group, field: str, text: str) -> None:
    """refuse_withdrawn_texts() for a group's title or instructions."""
    refuse_withdrawn_texts(actor, group, text, field=field)


def strings_in(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """The strings of a JSON value, names of keys and JSON in strings included, each with its path."""
    if isinstance(value, str):
        if depth < MAX_JSON_DEPTH and (read := json_in(value)) is not None:
            yield from strings_in(read, path, depth + 1)
        yield path, value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield f"{path}.{name}", str(name)
            yield from strings_in(part, f"{path}.{name}", depth)
    elif isinstance(value, list | tuple):
        for at, part in enumerate(value):
            yield from strings_in(part, f"{path}[{at}]", depth)


def json_in(text: str) -> Any:
    """The JSON object, list or string that a text is; None if it is none."""
    if text.lstrip()[:1] not in ("{", "[", '"'):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def sentences_of(text: str) -> list[str]:
    """A text itself, and its lines, sentences and clauses, with and without labels before them; each once."""
    parts = [text]
    for line in _LINE_END.split(text):
        for block in (line, *_TAG.split(line)):
            parts.append(block)
            for sentence in _SENTENCE_END.split(block):
                parts.append(sentence)
                for clause in _CLAUSE_END.split(sentence):
                    parts += (clause, *without_labels(clause))
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))


def without_labels(clause: str) -> Iterable[str]:
    """What follows each of the first labels of a clause, such as "Note:"."""
    for label in range(1, MAX_LABELS + 1):
        rest = _LABEL_END.split(clause, maxsplit=label)
        if len(rest) <= label:
            return
        yield rest[-1]
