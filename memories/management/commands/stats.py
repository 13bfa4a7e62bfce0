"""`manage.py stats`: count memories."""

import dataclasses
from typing import Any, Final

from access.additions import additions
from access.management.command import GROUP
from access.tokens import operator
from memories.language.cleaning import format_count, format_memory_count
from memories.management.output import FaceCommand, in_lines, printable, table_text
from memories.review.stats import Stats, memory_stats

EXAMPLES: Final = """\
examples:
  loci stats                     all groups
  loci stats --group ledger
  loci stats --json
"""


class Command(FaceCommand):
    """Prints the counts of one group or of all."""

    help = "Count memories by type, state, trust and scope, and the open decisions."
    examples = EXAMPLES
    options = (GROUP.but(help="default: all groups"),)

    def act(self, options: dict[str, Any]) -> int:
        counted = memory_stats(operator(), group=options["group"], everywhere=not options["group"])
        further = {name: lines for add in additions("further statistics") for name, lines in add().items()}
        if options["json"]:
            self.print_json({**dataclasses.asdict(counted), **further})
        else:
            where = printable(counted.group or format_count(counted.groups, "group"))
            head = f"{format_memory_count(counted.memories)} in {where}, {counted.live} of them live"
            rows = [[name, value] for lines in further.values() for name, value in lines.items()]
            self.stdout.write(in_lines(head, table_text([*count_rows(counted), *rows])))
        return 0


def count_rows(counted: Stats) -> list[list[str]]:
    """The counts as (name, value)."""
    rows = {
        "types": _list_counts(counted.by_type),
        "states": _list_counts(counted.by_state),
        "trusts": _list_counts(counted.by_trust),
        "scopes": _list_counts(counted.by_scope),
        "pinned": str(counted.pinned),
        "waiting": f"{format_count(counted.waiting, 'decision')} in the Review",
        "open links": f"{counted.disputed} disputed, {format_count(counted.conflicts, 'conflict')}, "
        f"{format_count(counted.duplicates, 'possible duplicate')}",
        "relations": str(counted.relations),
        "pieces": f"{counted.pieces}, {counted.pieces_owed} without vectors yet",
        "recalls": f"{counted.recalls_7_days} in 7 days",
        "feedback": f"{counted.feedback_used} used, {counted.feedback_wrong} wrong",
        "sensitive text": _list_counts(counted.findings),
        "room": _room_text(counted.use),
        "last stored": counted.last_stored[:19] or "never",
        "model": f"{counted.model} ({counted.model_state})",
    }
    return [[name, value] for name, value in rows.items() if value]


def _room_text(use: dict[str, float]) -> str:
    """What a group holds, with its limits; empty for all groups together."""
    if not use:
        return ""
    text = f"{use['memories']:,} memories with {use['bytes']:,} bytes of text"
    limits = [f"{use[f'max_{name}']:,} {name}" for name in ("memories", "bytes") if use[f"max_{name}"]]
    return f"{text}, {use['share']:.0%} of {' and '.join(limits)}" if limits else text


def _list_counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
