"""Marks for texts that were withdrawn before there were tombstones of rejects and second marks. For the migration."""

from collections import Counter
from secrets import token_hex
from typing import Any

from memories.language.cleaning import format_count
from memories.language.dress import has_letters_or_digits
from memories.store.withdrawn.tombstones import (
    TombstoneKey,
    create_key,
    later_marks,
    read_keys,
    tombstone_hmac,
)

_notes: list[str] = []  # not printed: with `mcp --stdio`, stdout belongs to the protocol


def lay_marks(tombstones: Any, memories: Any, states: Any) -> None:
    """Add the second mark and the scope to tombstones whose text is known, and tombstones for rejected texts.

    The arguments are the models Tombstone, Memory and IndexState as the migration knows them. take_notes() says what was
    done, and for how many tombstones of purged texts it cannot be done.
    """
    states.objects.update_or_create(name="withdrawn", defaults={"value": token_hex(8)})
    counts = add_second_marks(tombstones, memories)
    laid = bar_rejected(tombstones, memories)
    notes = (
        (laid, "Laid {} for texts that were rejected before."),
        (counts["marked"], "Added a mark to {}, so that the text is recognised in other dress."),
        (
            counts["purged"],
            "{} of purged texts cannot get that mark, since nothing is left of the texts: only exactly these are refused.",
        ),
        (counts["unknown"], "{} cannot get that mark, since the memory or the key is not here."),
    )
    _notes.extend(text.format(format_count(count, "tombstone")) for count, text in notes if count)


def take_notes() -> list[str]:
    """What the upgrade did in this process, in words, once."""
    lines = [*_notes]
    _notes.clear()
    return lines


def add_second_marks(tombstones: Any, memories: Any) -> Counter[str]:
    """Add the second mark and the scope where the text is known; counts of the others by reason."""
    counts: Counter[str] = Counter()
    keys = {name: key for key in read_keys() for name in (key.file, key.id)}
    for mark in tombstones.objects.filter(lifted_at=None, dress="").order_by("key").iterator():
        key, memory = keys.get(mark.key_id), memories.objects.filter(id=mark.memory_id).first()
        if key is None or memory is None or tombstone_hmac(key, memory.content) != mark.hmac:
            counts["purged" if mark.kind == "purged" else "unknown"] += 1
            continue
        mark.scope = memory.scope
        for name, value in later_marks(key, memory.content).items():
            setattr(mark, name, value)
        mark.save(update_fields=["dress", "scope", "spelling"])
        counts["marked"] += bool(mark.dress)
    return counts


def bar_rejected(tombstones: Any, memories: Any) -> int:
    """Lay tombstones for the texts of live rejected memories; returns their number."""
    rejected = memories.objects.filter(trust="rejected", state="live").order_by("key")
    laid = 0
    for memory in rejected.iterator():
        if has_letters_or_digits(memory.content) and bar_one(tombstones, memory):
            laid += 1
    return laid


def bar_one(tombstones: Any, memory: Any) -> bool:
    """Lay a tombstone for a rejected memory's text unless its group has one."""
    keys: list[TombstoneKey] = read_keys() or [create_key()]
    marks = [tombstone_hmac(key, memory.content) for key in keys]
    existing = tombstones.objects.filter(group_id=memory.group_id, hmac__in=marks, lifted_at=None).first()
    if existing is not None:
        if memory.scope == "global" and existing.scope != "global":
            existing.scope = "global"
            existing.save(update_fields=["scope"])
        return False
    tombstones.objects.create(
        group_id=memory.group_id,
        key_id=keys[0].id,
        hmac=marks[0],
        **later_marks(keys[0], memory.content),
        scope=memory.scope,
        kind="rejected",
        memory_id=memory.id,
        created_at=memory.state_changed_at or memory.updated_at,
    )
    return True
