"""Schemas of context packs and checkpoints."""

from typing import Any

from pydantic import Field

from loci_site.api.schemas.document import Document, StoredText
from loci_site.api.schemas.responses import ConflictOut, Written
from memories.types import Trust, Type


class SavedOut(Written):
    """A saved checkpoint; `count` is the number of checkpoints of its thread (or group)."""

    id: str
    group: str
    group_created: bool
    thread: str | None
    created_at: str
    count: int
    warning: str = Field(description="Why the default context pack will cut it; empty if it will not.")


class CheckpointOut(StoredText):
    """A checkpoint."""

    id: str
    group: str
    thread: str | None
    state: dict[str, Any]
    author: str
    created_at: str


class CheckpointPage(Document):
    """A page of checkpoints."""

    items: list[CheckpointOut]
    next: str | None


class SectionOut(Document):
    """A part of a context pack: the tokens that all of it would take, those it takes, and the ids that did not fit."""

    title: str
    ids: list[str]
    asked: int
    used: int
    is_cut: bool
    left_out: list[str]
    confidence: str = None  # type: ignore[assignment]  # of what answers the query: high or low
    note: str = None  # type: ignore[assignment]  # why it has no memories


class PackItemOut(StoredText):
    """A memory in a context pack: its text as shown, and why it is there; `score` is null unless the query found it."""

    id: str
    text: str
    type: Type
    trust: Trust
    score: float | None
    why: str
    label: str
    is_cut: bool


class PackThreadOut(Document):
    """A thread that matches the query."""

    name: str
    memories: int
    checkpoints: int


class PackConflictOut(ConflictOut):
    """An open conflict of a memory in the pack."""

    memory: str


class PackOut(StoredText):
    """What an agent should know when its session begins."""

    text: str
    group: str
    sections: list[SectionOut]
    items: list[PackItemOut]
    threads: list[PackThreadOut]
    tokens: int
    token_budget: int
    left_out: int
    mode: str
    degraded: str
    conflicts: list[PackConflictOut]
