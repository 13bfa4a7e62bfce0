"""What is already known of many drafts at once: their sources, and their texts letter by letter."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import Q

from memories.chains import head_of
from memories.draft import Draft
from memories.models import Link, LinkKind, Memory
from memories.text import content_hash
from memories.types import State, Type

SourceKey = tuple[int, str, str]  # group, source, source_ref
TextKey = tuple[int, str, str, str]  # group, scope, type, content hash
_ROWS = Memory.objects.select_related("group", "thread", "token", "root")


@dataclass(frozen=True)
class Origin:
    """What a source's text has become: the row that has its name, the memory it counts as now, and all its texts."""

    row: Memory
    head: Memory
    texts: dict[str, Memory] = field(default_factory=dict)


def find_origins(drafts: Sequence[tuple[int, Draft]]) -> dict[SourceKey, Origin]:
    """Give what is stored of the drafts' sources (pairs of group key and draft).

    One query where every source's text stands as the draft has it; two more where some have changed.
    """
    wanted = {(group, d.source, d.source_ref): content_hash(d.content) for group, d in drafts if d.source_ref}
    if not wanted:
        return {}
    rows = _ROWS.filter(
        group__in={key[0] for key in wanted},
        source__in={key[1] for key in wanted},
        source_ref__in={key[2] for key in wanted},
    ).select_related("superseded_by")
    found = {
        (r.group_id, r.source, r.source_ref): r
        for r in rows
        if (r.group_id, r.source, r.source_ref) in wanted
    }
    changed = [row for key, row in found.items() if row.content_hash != wanted[key]]
    later = _later_texts(changed)
    return {
        key: Origin(row, head_of(row), {row.content_hash: head_of(row)} | later.get(row.root_key, {}))
        for key, row in found.items()
    }


def find_live(drafts: Sequence[tuple[int, Draft]]) -> dict[TextKey, Memory]:
    """Give the live memories, events left out, that are one of the drafts letter by letter."""
    hashes = _hashes(drafts)
    rows = _ROWS.filter(
        ~Q(type=Type.EPISODIC),
        group__in={group for group, _ in drafts},
        content_hash__in=hashes,
        state=State.LIVE,
    )
    return {(row.group_id, row.scope, row.type, row.content_hash): row for row in rows} if hashes else {}


def find_superseded(drafts: Sequence[tuple[int, Draft]]) -> dict[tuple[int, str, str], Memory]:
    """Give the memories of those texts that a newer one replaced, by group, type and content hash."""
    hashes = _hashes(drafts)
    rows = _ROWS.filter(
        ~Q(type=Type.EPISODIC),
        group__in={group for group, _ in drafts},
        content_hash__in=hashes,
        state=State.SUPERSEDED,
        superseded_by__isnull=False,
    )
    return {(row.group_id, row.type, row.content_hash): row for row in rows} if hashes else {}


def _later_texts(rows: list[Memory]) -> dict[int, dict[str, Memory]]:
    """Give, by root, the texts of a chain's later versions and of the candidates that would replace it."""
    texts: defaultdict[int, dict[str, Memory]] = defaultdict(dict)
    if not rows:
        return texts
    roots = {row.root_key for row in rows}
    for version in Memory.objects.filter(Q(root__in=roots) | Q(key__in=roots)):
        texts[version.root_key][version.content_hash] = version
    for tie in Link.objects.filter(kind=LinkKind.CONFLICT, target__in=roots).select_related("source"):
        texts[tie.target_id].setdefault(tie.source.content_hash, tie.source)
    for row in rows:
        head = head_of(row)
        if row.state != State.MERGED:
            texts[row.root_key].setdefault(head.content_hash, head)
    return texts


def _hashes(drafts: Sequence[tuple[int, Draft]]) -> set[str]:
    return {content_hash(draft.content) for _, draft in drafts if draft.type != Type.EPISODIC}
