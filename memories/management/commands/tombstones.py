"""`manage.py tombstones`: list the texts that may not be stored again, and lift a tombstone."""

import argparse
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.core.management.base import CommandParser

from access.tokens import operator
from memories.lifecycle.purge.lift_tombstone import (
    VERB_OF,
    known_texts,
    lift_tombstones,
    list_tombstones,
    recognition,
    tombstone_json,
)
from memories.management.output import FaceCommand
from memories.models import Tombstone
from memories.queries.pages import MAX_LIMIT

EXAMPLES: Final = """\
examples:
  loci tombstones list --group ledger
  loci tombstones lift 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --reason "it was right after all"
"""


class Command(FaceCommand):
    """Lists tombstones, or lifts one."""

    help = "List the tombstones of withdrawn texts, or lift one so that its text may be stored again."
    takes_group = False
    examples = EXAMPLES

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        actions = parser.add_subparsers(dest="action", required=True, metavar="list | lift")
        listing = actions.add_parser("list", help="tombstones in force, newest first")
        listing.add_argument("--group", metavar="SLUG", help="default: all groups")
        listing.add_argument("--cursor", default="", help="the `next` value of the previous page")
        lifting = actions.add_parser("lift", help="allow a text to be stored again")
        lifting.add_argument("id", help="the id of the tombstone or of its memory")
        lifting.add_argument("--reason", default="", help="kept in the audit log")
        for action in (listing, lifting):
            action.add_argument("--json", action="store_true", help="answer as one JSON object")

    def act(self, options: dict[str, Any]) -> int:
        return self._lift(options) if options["action"] == "lift" else self._list(options)

    def _list(self, options: dict[str, Any]) -> int:
        actor = operator()
        page = list_tombstones(actor, group=options["group"], cursor=options["cursor"], limit=MAX_LIMIT)
        texts = known_texts(actor, page.rows)
        if options["json"]:
            self.print_json({"items": [tombstone_json(mark, texts) for mark in page.rows], "next": page.next})
            return 0
        self.print_table(
            [tombstone_row(mark, texts) for mark in page.rows],
            header=["id", "group", "verb", "scope", "since", "by", "recognises", "text", "reason"],
        )
        if page.next:
            self.stdout.write(f"More: --cursor {page.next}")
        return 0

    def _lift(self, options: dict[str, Any]) -> int:
        lifted = lift_tombstones(operator(), options["id"], reason=options["reason"]).tombstones
        if options["json"]:
            self.print_json({"lifted": [tombstone_json(mark) for mark in lifted]})
        else:
            is_retracted = any(mark.kind == "retracted" for mark in lifted)
            then = (
                "; a curator then has to approve it, since it restates a retracted text"
                if is_retracted
                else ""
            )
            self.stdout.write(f"{len(lifted)} lifted; the text may be stored again{then}.")
        return 0


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
