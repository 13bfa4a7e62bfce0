"""What keeps naming moved memories in the group that they left: its log, its logged recalls, its checkpoints."""

from collections.abc import Sequence
from dataclasses import dataclass

from access.models import AuditEntry, Group
from memories.language.plurals import format_count
from memories.lifecycle.regroup.families import chunks
from memories.models import Checkpoint, Memory, RecallLog
from memories.recall.recall_log import unpack_hits
from memories.store.purge_hooks import rows_quoting

MAX_QUOTED = 200  # texts looked for in checkpoints; each is a scan


@dataclass(frozen=True)
class MoveTraces:
    """Counts of rows of the former group. `checkpoints` None: too many texts to look for."""

    log_rows: int
    recalls: int
    checkpoints: int | None

    def describe(self, group: Group) -> str:
        """One line; empty if nothing names them."""
        parts = [
            format_count(self.log_rows, "log row"),
            format_count(self.recalls, "logged recall"),
            "checkpoints (not counted)"
            if self.checkpoints is None
            else format_count(self.checkpoints, "checkpoint"),
        ]
        if not (self.log_rows or self.recalls or self.checkpoints):
            return ""
        return f"'{group.slug}' keeps naming it in {', '.join(parts)}; 'loci memory purge' destroys those with the memory"


def find_traces(rows: Sequence[Memory], group: Group) -> MoveTraces:
    """What names the rows, or quotes their texts, in a group; reads its whole recall log."""
    ids, keys = [row.id for row in rows], {row.key for row in rows}
    log_rows = sum(
        AuditEntry.objects.filter(group=group.id, memory_id__in=some).count() for some in chunks(ids)
    )
    logged = RecallLog.objects.filter(group=group).values_list("hits", flat=True)
    recalls = sum(
        any(key in keys for key, _ in unpack_hits(bytes(hits))) for hits in logged.iterator(chunk_size=2000)
    )
    texts = tuple(dict.fromkeys((*(row.content for row in rows), *map(str, ids))))
    quoting = None
    if len(texts) <= MAX_QUOTED:
        found = set[int]()
        for some in chunks(texts, 20):
            checkpoints = rows_quoting(Checkpoint.objects.filter(group=group), "state", tuple(some))
            found |= set(checkpoints.values_list("pk", flat=True))
        quoting = len(found)
    return MoveTraces(log_rows, recalls, quoting)
