"""What keeps naming moved memories in the group that they left: its log, its logged recalls, its checkpoints."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext, ngettext

from access.models import AuditEntry, Group
from memories.language.dress.markup import Quotes
from memories.lifecycle.purge.places import find_recalls
from memories.lifecycle.regroup.families import chunks
from memories.models import Checkpoint, Memory

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
            ngettext("{count} log row", "{count} log rows", self.log_rows).format(count=self.log_rows),
            ngettext("{count} logged recall", "{count} logged recalls", self.recalls).format(
                count=self.recalls
            ),
            gettext("checkpoints (not counted)")
            if self.checkpoints is None
            else ngettext("{count} checkpoint", "{count} checkpoints", self.checkpoints).format(
                count=self.checkpoints
            ),
        ]
        if not (self.log_rows or self.recalls or self.checkpoints):
            return ""
        return gettext(
            "'{group}' keeps naming it in {parts}: purge what stayed behind there, on the group's page or with 'loci group purge-left-behind'"
        ).format(group=group.slug, parts=gettext(", ").join(parts))


def find_traces(rows: Sequence[Memory], group: Group) -> MoveTraces:
    """What names the rows, or quotes their texts, in a group; reads its whole recall log."""
    ids, keys = [row.id for row in rows], {row.key for row in rows}
    log_rows = sum(
        AuditEntry.objects.filter(group=group.id, memory_id__in=some).count() for some in chunks(ids)
    )
    recalls = len(find_recalls(keys, group=group)[0])
    texts = tuple(dict.fromkeys((*(row.content for row in rows), *map(str, ids))))
    quoting = None
    if len(texts) <= MAX_QUOTED:
        quoting = len(Quotes(texts).rows(Checkpoint.objects.filter(group=group), "state"))
    return MoveTraces(log_rows, recalls, quoting)
