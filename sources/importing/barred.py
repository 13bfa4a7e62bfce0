"""Texts that an import must not bring back: purged, retracted or superseded in this store."""

from collections.abc import Sequence

from memories.models import Memory, TombstoneKind
from memories.models.text_lookup import fold_start, fold_starts_with_any
from memories.store.withdrawn.marks import find_all_withdrawn
from memories.types import VISIBLE_TRUSTS, WITHDRAWN_TRUSTS, State, Trust, Type


def find_barred(rows: Sequence[Memory]) -> dict[int, str]:
    """Positions of the unsaved rows that may not be imported, each with the reason.

    A text purged here is barred in any state; a rejected, retracted or superseded one must not become live again. What has
    only the letters and digits of a withdrawn text becomes a candidate here: a curator decides.
    """
    history = _superseded_texts(rows)
    found = {}
    withdrawn = find_all_withdrawn((row.group_id, row.scope, row.content) for row in rows)
    for at, (row, match) in enumerate(zip(rows, withdrawn, strict=True)):
        is_live = row.state == State.LIVE and row.trust not in WITHDRAWN_TRUSTS
        if match and match.is_refused and (match.tombstone.kind == TombstoneKind.PURGED or is_live):
            where = "here" if match.is_own else "in another group, for all groups"
            found[at] = f"its text was {match.tombstone.kind} {where}; a curator can lift that"
        elif row.state == State.LIVE and (row.group_id, row.content_hash) in history:
            found[at] = "its text was superseded here; store it again if it is true again"
        elif match and row.state == State.LIVE and row.trust in VISIBLE_TRUSTS:
            row.trust = Trust.CANDIDATE
    return found


def _superseded_texts(rows: Sequence[Memory]) -> set[tuple[int, str]]:
    """Group and content hash of the texts that were superseded here. Events are not included: they are never superseded."""
    starts = {
        fold_start(row.fold_hash) for row in rows if row.type != Type.EPISODIC and row.state == State.LIVE
    }
    if not starts:
        return set()
    found = Memory.objects.filter(
        fold_starts_with_any(sorted(starts)), state=State.SUPERSEDED, retired_at=None
    )
    return set(found.exclude(type=Type.EPISODIC).order_by().values_list("group", "content_hash"))
