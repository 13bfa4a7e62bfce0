"""`manage.py recalls`: list the logged recalls, or show one."""

from typing import Any, Final

from django.core.management.base import CommandParser

from access.tokens import operator
from memories.browse.recalls import LoggedRecall, find_recall, list_recalls, logged_recall_json, with_hits
from memories.language.plurals import format_count
from memories.language.timestamps import parse_moment
from memories.management.output import FaceCommand, printable, terminal_columns, wrap_text
from memories.models.short_id import short_id

EXAMPLES: Final = """\
examples:
  loci recalls                                   the newest, in all groups
  loci recalls --group ledger --question port --since 2026-11-01
  loci recalls ID                                one, with what it returned
  loci recalls --json | jq -r '.items[] | [.at, .actor, .question] | @tsv'

exit status: 0 done (also if there are none), 1 an error, 2 wrong usage
"""
DEFAULT_LIMIT: Final = 20


class Command(FaceCommand):
    """Prints logged recalls, newest first, or one with its results."""

    help = "List what was asked and what came back, from the recall log."
    examples = EXAMPLES
    group_help = "default: all groups"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("id", nargs="?", default="", help="the id of one recall")
        parser.add_argument("--question", default="", metavar="TEXT", help="part of the question")
        parser.add_argument("--since", default="", metavar="TIME", help="asked then or later: 2026-11-21")
        parser.add_argument("--cursor", default="", help="the next page")
        parser.add_argument("--limit", type=int, default=DEFAULT_LIMIT, metavar="N")

    def act(self, options: dict[str, Any]) -> int:
        actor = operator()
        if options["id"]:
            [found] = with_hits(actor, [find_recall(actor, options["id"])])
            if options["json"]:
                self.print_json(logged_recall_json(found))
            else:
                self._print_one(found)
            return 0
        page = list_recalls(
            actor,
            question=options["question"],
            group=options["group"],
            since=parse_moment(options["since"], field="since") if options["since"] else None,
            cursor=options["cursor"],
            limit=options["limit"],
        )
        recalls = with_hits(actor, page.rows)
        if options["json"]:
            self.print_json({"items": [logged_recall_json(each) for each in recalls], "next": page.next})
            return 0
        for recall in recalls:
            self._print_line(recall)
        if not recalls:
            self.stdout.write("No recalls.")
        if page.next:
            self.stdout.write(f"More: --cursor {page.next}")
        return 0

    def _print_line(self, recall: LoggedRecall) -> None:
        for line in wrap_text(recall.row.query or "(no question)", width=terminal_columns()):
            self.stdout.write(line)
        self.stdout.write("    " + " · ".join(printable(fact) for fact in facts_of(recall)))

    def _print_one(self, recall: LoggedRecall) -> None:
        self._print_line(recall)
        for rank, (memory, score) in enumerate(recall.hits, start=1):
            mark = f"{rank:>2}. "
            for at, line in enumerate(wrap_text(memory.content, width=terminal_columns() - len(mark))):
                self.stdout.write((mark if at == 0 else " " * len(mark)) + line)
            self.stdout.write(f"    {memory.id} · {memory.type} · {memory.state} · score {score:.4f}")
        if recall.unseen:
            self.stdout.write(f"{format_count(recall.unseen, 'result')} removed since.")


def facts_of(recall: LoggedRecall) -> list[str]:
    """When, who, where and what came back, as short texts."""
    row = recall.row
    ids = ", ".join(short_id(memory.id) for memory, _ in recall.hits[:5])
    came = "nothing relevant" if row.abstained else format_count(len(recall.hits) + recall.unseen, "result")
    return [
        f"{row.at:%Y-%m-%d %H:%M}",
        row.actor,
        row.via,
        *([row.group.slug] if row.group else []),
        f"{came}: {ids}" if ids else came,
        f"id {recall.id}",
    ]
