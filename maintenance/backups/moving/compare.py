"""Compares the rows of two databases, and chooses questions whose answers are compared."""

import hashlib
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db.models import Model

from maintenance.backups.moving.tables import MARK, SOURCE, TARGET, models
from memories.language.cleaning import first_words
from memories.models import IndexState, Memory
from memories.types import State

Progress = Callable[[str, int, int], None]
CHECKED_QUESTIONS: Final = 100
QUESTION_WORDS: Final = 12
DIGEST_BITS: Final = 128


class GroupQuestion(NamedTuple):
    """A question for one group."""

    text: str
    group: str


def differing_tables(report: Progress) -> list[str]:
    """The tables whose rows are not the same in both databases, value by value."""
    found, every = [], models()
    for number, model in enumerate(every):
        report("comparing", number, len(every))
        if digest_of_rows(model, SOURCE) != digest_of_rows(model, TARGET):
            found.append(model._meta.db_table)
    return found


def digest_of_rows(model: type[Model], alias: str) -> tuple[int, int]:
    """The number of rows and the sum of their digests, which is the same in any order."""
    names = [field.attname for field in model._meta.concrete_fields if not field.generated]
    rows = model._base_manager.using(alias).order_by().values_list(*names)
    if model is IndexState:
        rows = rows.exclude(name=MARK)
    count = total = 0
    for row in rows.iterator(chunk_size=1000):
        line = json.dumps([plain(value) for value in row], sort_keys=True)
        digest = hashlib.blake2b(line.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BITS // 8).digest()
        total = (total + int.from_bytes(digest)) % 2**DIGEST_BITS
        count += 1
    return count, total


def plain(value: Any) -> Any:
    """A value as both databases' drivers return it."""
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, datetime):
        return value.timestamp()
    return value if isinstance(value, str | int | float | bool | list | dict | None) else str(value)


def pick_questions() -> list[GroupQuestion]:
    """Beginnings of live memories, spread over the store, as questions."""
    live = Memory.objects.filter(state=State.LIVE).order_by("key")
    count = live.count()
    every = max(1, count // CHECKED_QUESTIONS)
    keys = list(live.values_list("key", flat=True))[::every][:CHECKED_QUESTIONS]
    rows = Memory.objects.filter(key__in=keys).order_by("key").values_list("content", "group__slug")
    return [GroupQuestion(first_words(text, QUESTION_WORDS), slug) for text, slug in rows]
