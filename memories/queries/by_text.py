"""Memories with the same text: twins, copies under another scope or type, and what recall leaves out with a withdrawn text."""

from collections.abc import Iterable, Sequence

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from memories.language.cleaning import fold
from memories.language.dress import has_letters_or_digits, undressed
from memories.language.dress.quotes import readings
from memories.models import Memory
from memories.models.text_lookup import fold_start, fold_starts_with, fold_starts_with_any, has_text, newest
from memories.queries.snapshot import RELATED_ROWS
from memories.queries.visibility import outlasting_q
from memories.types import VISIBLE_TRUSTS, Scope, State, Trust, Type


def find_twin(memory: Memory, *, counts: bool = False) -> Memory | None:
    """Another live memory with exactly this text, scope and type; None for an event, since events have no duplicates.

    `counts`: also one that counts until the day of a plan.
    """
    if memory.type == Type.EPISODIC:
        return None
    same = texts_beside(memory, memory.content_hash, memory.fold_hash, counts=counts)
    return newest(same.exclude(pk=memory.pk))


def texts_beside(
    memory: Memory, content_hash: str, fold_hash: str, *, counts: bool = False
) -> QuerySet[Memory]:
    """The live memories of a memory's group, scope and type with the text of these hashes; `counts` as in find_twin()."""
    stands = Q(state=State.LIVE) | outlasting_q(timezone.now()) if counts else Q(state=State.LIVE)
    rows = Memory.objects.filter(stands, group=memory.group_id, scope=memory.scope, type=memory.type)
    return rows.filter(has_text(content_hash, fold_hash))


def describe_twin(twin: Memory) -> str:
    """A twin in words, with the day until which it counts if a plan replaces it."""
    if twin.state == State.LIVE or twin.valid_to is None:
        return f"The same text is live as {twin.id}."
    return f"The same text counts until {twin.valid_to:%Y-%m-%d} as {twin.id}, which a plan replaces then."


def live_copies(memory: Memory) -> list[Memory]:
    """Other live memories of the group with the same folded text, in order of their keys.

    Events have no copies: two with the same text are two events.
    """
    if memory.type == Type.EPISODIC:
        return []
    same_text = Memory.objects.filter(
        fold_starts_with(fold_start(memory.fold_hash)),
        group=memory.group_id, fold_hash=memory.fold_hash, state=State.LIVE,
    )  # fmt: skip
    others = same_text.exclude(type=Type.EPISODIC).exclude(Q(key=memory.root_key) | Q(root=memory.root_key))
    rows = others.exclude(key=memory.key).select_related(*RELATED_ROWS)
    folded = fold(memory.content)  # other dress may be another fact: a purge destroys copies
    # Unordered: with ORDER BY key, SQLite reads the whole group.
    copies = (row for row in rows.order_by() if fold(row.content) == folded)
    return sorted(copies, key=lambda row: row.key)


def recallable_copies(memory: Memory) -> list[Memory]:
    """Copies that recall returns, and versions with this text that count until the day of a plan.

    A candidate cannot be approved once its text is barred.
    """
    outlasting = Memory.objects.filter(
        outlasting_q(timezone.now()), fold_starts_with(fold_start(memory.fold_hash)),
        group=memory.group_id, fold_hash=memory.fold_hash,
    ).exclude(key=memory.key)  # fmt: skip
    until = [
        row for row in outlasting.select_related(*RELATED_ROWS) if fold(row.content) == fold(memory.content)
    ]
    return [*(copy for copy in live_copies(memory) if copy.trust in VISIBLE_TRUSTS), *until]


def left_out_with(memories: Sequence[Memory]) -> list[Memory]:
    """What recall of a group leaves out as well once these texts of its are withdrawn there; in order of their keys.

    The same texts in whatever dress, type and scope, and global ones of other groups: what find_left_out() would say.
    """
    # Others leave no tombstone.
    named = [memory for memory in memories if has_letters_or_digits(memory.content)]
    if not named:
        return []
    folds = {fold(memory.content) for memory in named}
    bare = {undressed(memory.content) for memory in named} - {""}
    groups = {memory.group_id for memory in named}
    here = Memory.objects.filter(Q(group__in=groups) | Q(scope=Scope.GLOBAL)).exclude(
        key__in={memory.key for memory in memories}
    )
    recalled = here.filter(Q(state=State.LIVE, trust__in=VISIBLE_TRUSTS) | outlasting_q(timezone.now()))
    same = recalled.filter(fold_starts_with_any({fold_start(memory.fold_hash) for memory in named}))
    # No index finds a text by what its escapes say: of those, the ones that people stand behind.
    escaped = recalled.filter(Q(pinned=True) | Q(trust=Trust.VERIFIED), content__contains="\\")
    rows = {row.key: row for rows in (same, escaped) for row in rows.select_related(*RELATED_ROWS).order_by()}
    return [
        row
        for _, row in sorted(rows.items())
        if any(fold(said) in folds or undressed(said) in bare for said in readings(row.content))
    ]


def find_counting_same(memory: Memory, among: Iterable[Memory] | None = None) -> Memory | None:
    """A live, active or verified memory of the same group that has this text, exactly or in other dress.

    `among`: what left_out_with() says of this memory, if it was asked.
    """
    found = left_out_with([memory]) if among is None else among
    here = (row for row in found if row.group_id == memory.group_id and row.state == State.LIVE)
    return next(here, None)


def single_version_copies(memory: Memory) -> list[Memory]:
    """Copies without other versions: a purge may destroy them without destroying another text."""
    keys = [copy.key for copy in live_copies(memory)]
    later = Memory.objects.filter(root=OuterRef("key"))
    alone = Memory.objects.filter(~Exists(later), key__in=keys, root=None)
    return list(alone.select_related(*RELATED_ROWS).order_by("key"))
