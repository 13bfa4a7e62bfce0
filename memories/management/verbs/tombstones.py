"""`loci memory tombstones` and `lift`: the texts that may not be stored again."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from access.management.command import CURSOR, GROUP, REASON, CommandAnswer, CommandVerb, option
from access.tokens import operator
from memories.lifecycle.purge.lift_tombstone import (
    VERB_OF,
    TombstoneOut,
    known_texts,
    lift_tombstones,
    list_tombstones,
    recognition,
)
from memories.management.output import in_lines, table_text
from memories.models import Tombstone
from memories.queries.pages import MAX_LIMIT

HEADER: Final = ("id", "group", "verb", "scope", "since", "by", "recognises", "text", "reason")


def tombstones(options: dict[str, Any]) -> CommandAnswer:
    """The tombstones in force, newest first."""
    actor = operator()
    page = list_tombstones(actor, group=options["group"], cursor=options["cursor"], limit=MAX_LIMIT)
    texts = known_texts(actor, page.rows)
    table = table_text([tombstone_row(mark, texts) for mark in page.rows], header=HEADER)
    items = [TombstoneOut.json(mark) | {"text": texts.get(mark.memory_id, "")} for mark in page.rows]
    body = {"items": items, "next": page.next}
    return CommandAnswer(body, in_lines(table, f"More: --cursor {page.next}" if page.next else ""))


def lift(options: dict[str, Any]) -> CommandAnswer:
    """Allow a text to be stored again."""
    lifted = lift_tombstones(operator(), options["id"], reason=options["reason"]).tombstones
    is_retracted = any(mark.kind == "retracted" for mark in lifted)
    then = "; a curator then has to approve it, since it restates a retracted text" if is_retracted else ""
    text = f"{len(lifted)} lifted; the text may be stored again{then}."
    return CommandAnswer({"lifted": [TombstoneOut.json(mark) for mark in lifted]}, text)


def tombstone_row(mark: Tombstone, texts: Mapping[UUID, str]) -> list[str]:
    """A tombstone's line in the table of `list`."""
    return [
        str(mark.id),
        mark.group.slug,
        VERB_OF[mark.kind],
        mark.scope,
        f"{mark.created_at:%Y-%m-%d %H:%M}",
        mark.author_name or "-",
        recognition(mark),
        texts.get(mark.memory_id, "-"),
        mark.reason or "-",
    ]


TOMBSTONES: Final = CommandVerb(
    tombstones,
    "list the tombstones in force, newest first",
    (GROUP.but(help="default: all groups"), CURSOR),
)
LIFT: Final = CommandVerb(
    lift,
    "lift a tombstone, so that its text may be stored again",
    (option("id", help="the id of the tombstone or of its memory"), REASON),
)
