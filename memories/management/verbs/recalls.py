"""`loci memory recalls`: the logged recalls, or one of them."""

from typing import Any, Final

from access.management.command import CURSOR, GROUP, LIMIT, CommandAnswer, CommandVerb, option
from access.tokens import operator
from memories.browse.recalls import LoggedRecall, LoggedRecallOut, find_recall, list_recalls, with_hits
from memories.language.cleaning import format_count
from memories.management.field_options import SINCE
from memories.management.output import in_lines, printable, terminal_columns, wrap_text
from memories.models.short_id import short_id

DEFAULT_LIMIT: Final = 20


def recalls(options: dict[str, Any]) -> CommandAnswer:
    """Logged recalls, newest first, or one with its results."""
    actor = operator()
    if options["id"]:
        [found] = with_hits(actor, [find_recall(actor, options["id"])])
        return CommandAnswer(LoggedRecallOut.json(found), "\n".join(recall_lines(found, with_results=True)))
    page = list_recalls(
        actor,
        question=options["question"],
        group=options["group"],
        since=options["since"],
        cursor=options["cursor"],
        limit=options["limit"],
    )
    rows = with_hits(actor, page.rows)
    lines = [line for recall in rows for line in recall_lines(recall)] or ["No recalls."]
    more = f"More: --cursor {page.next}" if page.next else ""
    body = {"items": [LoggedRecallOut.json(each) for each in rows], "next": page.next}
    return CommandAnswer(body, in_lines(*lines, more))


def recall_lines(recall: LoggedRecall, *, with_results: bool = False) -> list[str]:
    """A recall's question and facts, and what it returned."""
    columns = terminal_columns()
    lines = wrap_text(recall.row.query or "(no question)", width=columns)
    lines.append("    " + " · ".join(printable(fact) for fact in facts_of(recall)))
    for rank, (memory, score) in enumerate(recall.hits if with_results else (), start=1):
        mark = f"{rank:>2}. "
        for at, line in enumerate(wrap_text(memory.content, width=columns - len(mark))):
            lines.append((mark if at == 0 else " " * len(mark)) + line)
        lines.append(f"    {memory.id} · {memory.type} · {memory.state} · score {score:.4f}")
    if with_results and recall.unseen:
        lines.append(f"{format_count(recall.unseen, 'result')} removed since.")
    return lines


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


RECALLS: Final = CommandVerb(
    recalls,
    "list what was asked and what came back, from the recall log",
    (
        option("id", nargs="?", default="", help="the id of one recall"),
        GROUP.but(help="default: all groups"),
        option("--question", default="", metavar="TEXT", help="part of the question"),
        SINCE,
        CURSOR,
        LIMIT.but(default=DEFAULT_LIMIT),
    ),
)
