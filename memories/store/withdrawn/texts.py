"""Texts without a review state, such as checkpoints, instructions and names: refused where they repeat a withdrawn text."""

import re
from collections.abc import Iterator
from typing import Any

from access.actor import Actor
from access.errors import Conflict
from access.models import Group
from memories.store.withdrawn.marks import find_all_withdrawn, read_marks
from memories.types import Scope

_SENTENCE_END = re.compile(r"(?<=[.!?。！？।])\s+|\n+")


def refuse_withdrawn_texts(actor: Actor, group: Group, value: Any, *, field: str) -> None:
    """Raise Conflict if a string in a JSON value, or a sentence of one, is a text that was withdrawn in the group.

    It names the path, such as `state.notes[2]`. In other dress counts too, since nobody would be asked about it.
    """
    if not read_marks().concern(group.key):
        return
    parts = [(path, text) for path, whole in strings_in(value, field) for text in sentences_of(whole)]
    found = find_all_withdrawn((group.key, Scope.GROUP, text) for _, text in parts)
    for (path, _), withdrawn in zip(parts, found, strict=True):
        if withdrawn is not None:
            raise Conflict(
                f"'{path}' repeats a withdrawn text: {withdrawn.describe(actor)}",
                hint="Leave it out.",
                field=field,
            )


def check_group_text(actor: Actor, group: Group, field: str, text: str) -> None:
    """refuse_withdrawn_texts() for a group's title or instructions."""
    refuse_withdrawn_texts(actor, group, text, field=field)


def strings_in(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """The strings of a JSON value, names of keys included, each with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield f"{path}.{name}", str(name)
            yield from strings_in(part, f"{path}.{name}")
    elif isinstance(value, list | tuple):
        for at, part in enumerate(value):
            yield from strings_in(part, f"{path}[{at}]")


def sentences_of(text: str) -> list[str]:
    """A text itself, and its sentences and lines."""
    parts = [part for part in _SENTENCE_END.split(text) if part.strip()]
    return [text, *parts] if len(parts) > 1 else [text]
