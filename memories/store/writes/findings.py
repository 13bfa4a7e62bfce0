"""What the guard found in a text is recorded beside its memory: kinds and counts, never a value."""

from collections.abc import Iterable

from access.groups.guarding import TextFinding
from guard.policy import STRICTNESS
from memories.models import Memory, MemoryFinding


def record_findings(written: Iterable[tuple[Memory, tuple[TextFinding, ...]]]) -> None:
    """Record the findings of new rows; most texts have none. A kind that is recorded already gets the new count."""
    rows = [row for memory, found in written if found for row in finding_rows(memory, found)]
    if rows:
        MemoryFinding.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["memory", "kind"],
            update_fields=["places", "treatment"],
        )


def finding_rows(memory: Memory, found: Iterable[TextFinding]) -> list[MemoryFinding]:
    """Unsaved rows, one for each kind, with the strictest treatment."""
    kinds: dict[str, MemoryFinding] = {}
    for each in found:
        row = kinds.get(each.kind)
        if row is None:
            kinds[each.kind] = MemoryFinding(memory=memory, kind=each.kind, treatment=each.treatment.value)
            continue
        row.places += 1
        row.treatment = max(row.treatment, each.treatment.value, key=lambda word: STRICTNESS[word])
    return list(kinds.values())
