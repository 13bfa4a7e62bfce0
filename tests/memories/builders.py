"""Rows and drafts for tests, made with as few words as possible."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray

from access.actor import Actor
from access.audit.operations import Operation
from access.models import Group
from memories.draft import Draft
from memories.language.cleaning import content_hash
from memories.language.dress import fold_hash
from memories.language.word_forms import forms_of
from memories.lifecycle.target import change_fields
from memories.models import Doubt, IndexState, Memory, Piece
from memories.store import StoreResult, store
from memories.store.for_review import open_doubts
from memories.store.threads import context_of, filter_tokens

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
MODEL = "test-model"
# A question, the note that answers it, and notes that share a word with it and do not.
PORT_QUESTION = "What is the deploy port of the staging server?"
PORT_NOTE = "The deploy port of the staging server is 8081."
NOTES_BESIDE = (
    "The deploy of the website runs on Thursdays.",
    "The port of Rotterdam ships our printers.",
    "Backups of the ledger go to Falkenstein.",
    "The staging server is rebuilt each Monday.",
    "Ines reviews every change of the server's certificates.",
    "The on-call phone is with Bo this month.",
)


def day(offset: int) -> datetime:
    """The moment `offset` days after NOW."""
    return NOW + timedelta(days=offset)


def keep(actor: Actor, content: str, **fields: Any) -> StoreResult:
    """Store a text."""
    return store(actor, Draft(content, **fields))


def kept(actor: Actor, content: str, **fields: Any) -> Memory:
    """Store a text that must become a new memory, and give it."""
    stored = keep(actor, content, **fields)
    assert stored.outcome == "created", stored
    assert stored.memory is not None
    return stored.memory


def fresh(memory: Memory) -> Memory:
    """Read the row again."""
    return Memory.objects.get(pk=memory.pk)


def row(group: Group, content: str, /, **fields: Any) -> Memory:
    """Write a row past the write path, with any state and times."""
    memory = Memory(
        **{
            "content": content,
            "content_hash": content_hash(content),
            "fold_hash": fold_hash(content),
            "type": "semantic",
            "scope": "group",
            "group": group,
            "created_at": NOW,
            "confirmed_at": timezone.now(),  # the Review does not ask whether it is still true
        }
        | fields
    )
    memory.context = context_of(memory, [])
    memory.filter = filter_tokens(memory)
    memory.forms = forms_of(memory.content)
    memory.save(force_insert=True)
    return memory


def doubt(memory: Memory, reason: str = "", *, by: str = "bob/claude") -> Memory:
    """Add an open doubt past the verb, and give the memory."""
    Doubt.objects.create(memory_id=memory.root_key, author_name=by, reason=reason)
    return memory


def doubters(memory: Memory) -> list[str]:
    """Who doubts the memory, oldest first."""
    return list(open_doubts(memory).values_list("author_name", flat=True))


def unit_vector(seed: int) -> NDArray[np.float32]:
    """A random float32[384] of unit length."""
    vector = np.random.default_rng(seed).normal(size=384)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def add_piece(memory: Memory, vector: NDArray[np.float32], *, ordinal: int = 0) -> Piece:
    """Embed a memory with the test's own model, which the index then holds."""
    IndexState.objects.get_or_create(name="model", defaults={"value": MODEL})
    return Piece.objects.create(
        memory=memory,
        ordinal=ordinal,
        start=0,
        end=len(memory.content),
        tokens=1,
        embedding=vector.astype("<f4").tobytes(),
        model=MODEL,
    )


def pin_as_before(actor: Actor, memory: Memory) -> None:
    """Pin a memory as an agent, which older versions let agents do without a person."""
    change_fields(actor, memory, Operation.PIN, {"pinned": True}, (), reason="", dry_run=False)
