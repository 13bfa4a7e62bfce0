"""`loci memory list`, `inspect`, `recalls`, `tombstones` and `lift`: one memory, the recall log, and the texts that may not be stored again."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from access.management.command import CURSOR, GROUP, LIMIT, REASON, CommandAnswer, CommandVerb, option
from access.tokens import operator
from access.visibility import Narrowing
from memories.browse.history import further_facts
from memories.browse.inspection import Inspection, inspect_memory
from memories.browse.listing import ListFilter, list_memories
from memories.browse.recalls import LoggedRecall, LoggedRecallOut, find_recall, list_recalls, with_hits
from memories.browse.serializers import InspectionOut, MemoryOut
from memories.language.cleaning import format_count
from memories.lifecycle.purge.lift_tombstone import (
    VERB_OF,
    TombstoneOut,
    known_texts,
    lift_tombstones,
    list_tombstones,
    recognition,
)
from memories.management.field_options import AS_OF, KNOWN_AT, SINCE
from memories.management.output import in_lines, printable, table_text, terminal_columns, wrap_text
from memories.models import Memory, Tombstone
from memories.models.short_id import short_id
from memories.queries.as_of import known_span, true_span
from memories.queries.labels import label_of
from memories.queries.pages import MAX_LIMIT


def _list_newest(options: dict[str, Any]) -> CommandAnswer:
    """Live memories, the newest first."""
    wanted = ListFilter(group=options["group"], words=options["words"])
    page = list_memories(operator(), wanted, cursor=options["cursor"], limit=options["limit"])
    lines = [
        line
        for row in page.rows
        for line in (
            *wrap_text(row.content, width=terminal_columns()),
            "    " + " · ".join(filter(None, (short_id(row.id), row.group.slug, row.type, f"{row.created_at:%Y-%m-%d %H:%M}", label_of(row)))),
        )
    ] or ["No memories."]  # fmt: skip
    more = f"More: --cursor {page.next}" if page.next else ""
    return CommandAnswer(MemoryOut.page(page, is_person=True), in_lines(*lines, more))


def inspect(options: dict[str, Any]) -> CommandAnswer:
    """A memory's text, versions, links, relations and history."""
    narrowing = Narrowing(as_of=options["as_of"], known_at=options["known_at"])
    seen = inspect_memory(operator(), options["id"], query=options["query"], narrowing=narrowing)
    return CommandAnswer(InspectionOut.json(seen, is_person=True), _inspection_text(seen))


def _inspection_text(seen: Inspection) -> str:
    links = [[k.kind, k.status, f"{k.source.id} – {k.target.id}", k.reason] for k in seen.links]
    relations = [[_end_text(s.subject), s.relation.predicate, _end_text(s.object)] for s in seen.relations]
    history = [[row["at"][:19], row["operation"], row["actor"], row["reason"]] for row in seen.log]
    versions = [
        [
            str(v.version),
            label_of(v) or v.state,
            str(v.id),
            f"true {true_span(v)}; known {known_span(v)}",
            v.content,
        ]
        for v in seen.versions
    ]
    tables = {"Versions": versions, "Links": links, "Relations": relations, "History": history}
    width = terminal_columns()
    lines = [
        line for part in seen.memory.content.splitlines() for line in wrap_text(part, width=width) or [""]
    ]
    lines += ["", table_text(_fact_rows(seen))]
    for title, rows in tables.items():
        lines += [f"\n{title}", table_text(rows)] if rows else []
    if (why := seen.why) is not None:
        numbers = [[name, f"{value:g}"] for name, value in why.numbers.items()]
        lines.append(f"\nAsked “{printable(why.query)}”: {printable(why.reason)}.")
        lines += [table_text(numbers)] if numbers else []
    return "\n".join(lines)


def _end_text(memory: Memory) -> str:
    """The start of one end of a relation, with its label if it is not current."""
    label = label_of(memory)
    return f"{memory.content[:40]} ({label})" if label else memory.content[:40]


def _fact_rows(seen: Inspection) -> list[list[str]]:
    """The memory's fields with values, as (name, value)."""
    memory = seen.memory
    facts = {
        "id": str(memory.id),
        "current version": str(seen.head.id) if seen.head is not None and seen.head != memory else "",
        "type": memory.type,
        "group": f"{memory.group.slug} ({memory.scope})",
        "state": f"{memory.state}, {memory.trust}{', pinned' if memory.pinned else ''}: recall {seen.recall_treatment}s it",
        "label": seen.label,
        "tags": ", ".join(memory.tags),
        "confidence": f"{memory.confidence:.2f}",
        "importance": str(memory.importance),
        **{title.lower(): "" if value == "—" else value for title, value in further_facts(memory)},
        "thread": f"{memory.thread.name} at {memory.position}" if memory.thread else "",
        "source": memory.source,
        "author": memory.author_name,
        "stored": f"{memory.created_at:%Y-%m-%d %H:%M} UTC",
        "true from": f"{memory.valid_from:%Y-%m-%d %H:%M} UTC" if memory.valid_from else "",
        "true until": f"{memory.valid_to:%Y-%m-%d %H:%M} UTC" if memory.valid_to else "",
        "recalled": f"{memory.access_count} times",
        "pieces": f"{seen.pieces}{f', {seen.pieces_owed} without vectors yet' if seen.pieces_owed else ''}",
    }
    return [[name, value] for name, value in facts.items() if value]


INSPECT: Final = CommandVerb(
    inspect,
    "show everything about a memory",
    (
        option("id", help="the id of any of its versions"),
        option("--query", default="", help="explain why this question finds it or not"),
        AS_OF,
        KNOWN_AT,
    ),
)


DEFAULT_LIMIT: Final = 20


def recalls(options: dict[str, Any]) -> CommandAnswer:
    """Logged recalls, newest first, or one with its results."""
    actor = operator()
    if options["id"]:
        [found] = with_hits(actor, [find_recall(actor, options["id"])])
        return CommandAnswer(LoggedRecallOut.json(found), "\n".join(_recall_lines(found, with_results=True)))
    wanted = {name: options[name] for name in ("question", "group", "since", "cursor", "limit")}
    page = list_recalls(actor, **wanted)
    rows = with_hits(actor, page.rows)
    lines = [line for recall in rows for line in _recall_lines(recall)] or ["No recalls."]
    more = f"More: --cursor {page.next}" if page.next else ""
    body = {"items": [LoggedRecallOut.json(each) for each in rows], "next": page.next}
    return CommandAnswer(body, in_lines(*lines, more))


def _recall_lines(recall: LoggedRecall, *, with_results: bool = False) -> list[str]:
    """A recall's question and facts, and what it returned."""
    columns = terminal_columns()
    lines = wrap_text(recall.row.query or "(no question)", width=columns)
    lines.append("    " + " · ".join(printable(fact) for fact in _facts_of(recall)))
    for rank, (memory, score) in enumerate(recall.hits if with_results else (), start=1):
        mark = f"{rank:>2}. "
        for at, line in enumerate(wrap_text(memory.content, width=columns - len(mark))):
            lines.append((mark if at == 0 else " " * len(mark)) + line)
        lines.append(f"    {memory.id} · {memory.type} · {memory.state} · score {score:.4f}")
    if with_results and recall.unseen:
        lines.append(f"{format_count(recall.unseen, 'result')} removed since.")
    return lines


def _facts_of(recall: LoggedRecall) -> list[str]:
    """When, who, where and what came back, as short texts."""
    row = recall.row
    ids = ", ".join(short_id(memory.id) for memory, _ in recall.hits[:5])
    came = "nothing relevant" if row.abstained else format_count(len(recall.hits) + recall.unseen, "result")
    group = [row.group.slug] if row.group else []
    found = f"{came}: {ids}" if ids else came
    return [f"{row.at:%Y-%m-%d %H:%M}", row.actor, row.via, *group, found, f"id {recall.id}"]


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


HEADER: Final = ("id", "group", "verb", "scope", "since", "by", "recognises", "text", "reason")


def tombstones(options: dict[str, Any]) -> CommandAnswer:
    """The tombstones in force, newest first."""
    actor = operator()
    page = list_tombstones(actor, group=options["group"], cursor=options["cursor"], limit=MAX_LIMIT)
    texts = known_texts(actor, page.rows)
    table = table_text([_tombstone_row(mark, texts) for mark in page.rows], header=HEADER)
    items = [TombstoneOut.json(mark) | {"text": texts.get(mark.memory_id, "")} for mark in page.rows]
    body = {"items": items, "next": page.next}
    return CommandAnswer(body, in_lines(table, f"More: --cursor {page.next}" if page.next else ""))


def lift(options: dict[str, Any]) -> CommandAnswer:
    """Allow a text to be stored again."""
    lifted = lift_tombstones(operator(), options["id"], reason=options["reason"])
    is_retracted = any(mark.kind == "retracted" for mark in lifted)
    then = "; a curator then has to approve it, since it restates a retracted text" if is_retracted else ""
    text = f"{len(lifted)} lifted; the text may be stored again{then}."
    return CommandAnswer({"lifted": [TombstoneOut.json(mark) for mark in lifted]}, text)


def _tombstone_row(mark: Tombstone, texts: Mapping[UUID, str]) -> list[str]:
    """A tombstone's line in the table, below HEADER."""
    return [
        str(mark.id), mark.group.slug, VERB_OF[mark.kind], mark.scope, f"{mark.created_at:%Y-%m-%d %H:%M}",
        mark.author_name or "-", recognition(mark), texts.get(mark.memory_id, "-"), mark.reason or "-",
    ]  # fmt: skip


LIST: Final = CommandVerb(
    _list_newest,
    "list live memories, newest first",
    (
        GROUP.but(help="default: all groups"),
        option("--words", default="", metavar="TEXT", help="part of the text"),
        CURSOR,
        LIMIT.but(default=DEFAULT_LIMIT),
    ),
)
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
