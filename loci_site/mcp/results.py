"""Results of tools from the services' answers: structured content, and text that is compact JSON or fenced memories."""

import json
import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from mcp_types import CallToolResult, TextContent

from loci_site.mcp import result_schemas as shapes
from maintenance.status import stats_json
from memories.browse.inspection import Inspection
from memories.browse.recalls import LoggedRecall
from memories.browse.serializers import (
    WITHHELD,
    Json,
    change_json,
    checkpoint_json,
    inspection_json,
    neighbour_json,
    pack_json,
    recall_json,
    relation_json,
    stored_json,
    undone_json,
)
from memories.browse.stats import Stats
from memories.entities.lines import fence_relations
from memories.entities.store_relation import RelationResult
from memories.language.cleaning import first_words
from memories.lifecycle.edit import EditOutcome, EditResult
from memories.lifecycle.target import ChangeResult
from memories.lifecycle.undo import UndoneWrite
from memories.models import Memory
from memories.models.short_id import short_id
from memories.queries.labels import label_of
from memories.queries.quoting import fence, wrap
from memories.queries.snapshot import as_json
from memories.recall import Item, RecallResult
from memories.review.feedback import GivenFeedback
from memories.sessions.checkpoints import CheckpointResult
from memories.sessions.context_pack import ContextPack
from memories.sessions.thread_page import ThreadPage
from memories.store import StoreResult
from memories.types import Trust

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d):\d\d(?:\.\d+)?(?:Z|\+00:00)")
_FULL_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FENCED_FIELDS = ("content",)  # of an inspected memory, which its marks show already
EXCERPT_WORDS = 30  # of neighbours and other versions
MAX_LOG_ROWS = 10


def stored_answer(stored: StoreResult) -> CallToolResult:
    """The result of a store; neighbours with excerpts."""
    near = [
        neighbour_json(each, stored) | {"content": fence_excerpt(each.memory, group=stored.group)}
        for each in stored.neighbours
    ]
    body = stored_json(stored) | {"near": near}
    return make_result(shapes.StoreAnswer.model_validate(body))


def recalled_answer(recalled: RecallResult) -> CallToolResult:
    """The result of a recall; as text, every memory between its marks."""
    body = recall_json(recalled)
    items, name = (recalled.items, "results") if recalled.items else (recalled.nearest, "nearest")
    shown = [item.between_marks(recalled.group) for item in items]
    body[name] = [
        recalled_item(item, part, text, group=recalled.group)
        for item, part, text in zip(items, body[name], shown, strict=True)
    ]
    for line in body.get("relations", ()):
        line["line"] = fence_relations([line["line"]])
    return make_result(shapes.RecallAnswer.model_validate(body), text=recalled.show(shown))


def done_answer(done: ChangeResult) -> CallToolResult:
    """The result of a verb; it lists the changed fields for a dry run only."""
    body = change_json(done)
    return make_result(shapes.ForgetAnswer.model_validate(body if done.dry_run else body | {"changes": {}}))


def inspected_answer(inspection: Inspection) -> CallToolResult:
    """The result of an inspection; as text, the content between marks and the rest as JSON."""
    body = inspection_json(inspection)
    memory = inspection.memory
    fenced = fence(memory, visible_content(memory), label=inspection.label)
    body["memory"] |= {"content": fenced}
    body["versions"] = [
        version | {"content": fence_excerpt(row, group=memory.group.slug)}
        for version, row in zip(body["versions"], inspection.versions, strict=True)
        if len(inspection.versions) > 1
    ]
    for edge, statement in zip(body["relations"], inspection.relations, strict=True):
        edge["line"] = fence_relations([edge["line"]])
        for end, row in (("subject", statement.subject), ("object", statement.object)):
            edge[end] |= {"content": fence_excerpt(row, group=memory.group.slug)}
    log = [entry | {"reason": fence_reason(entry["reason"])} for entry in body["log"][:MAX_LOG_ROWS]]
    body |= {"log": log, "log_rows": len(body["log"])}
    if not inspection.feedback.in_words:
        body["feedback"] = {}
    answer = shapes.InspectAnswer.model_validate(drop_empty(body))
    rest = shorten_values(shorten_ids(answer.as_json()))
    rest["memory"] = {name: value for name, value in rest["memory"].items() if name not in FENCED_FIELDS}
    return make_result(answer, text=f"{fenced}\n{to_compact_json(rest)}")


def counted_answer(stats: Stats) -> CallToolResult:
    """The result of the statistics."""
    return make_result(shapes.StatsAnswer.model_validate(stats_json(stats)))


def related_answer(stored: RelationResult) -> CallToolResult:
    """The result of a stored relation."""
    return make_result(shapes.RelationAnswer.model_validate(relation_json(stored)))


def packed_answer(pack: ContextPack) -> CallToolResult:
    """The result with a context pack, which is also its text."""
    return make_result(shapes.ContextAnswer.model_validate(pack_json(pack)), text=pack.text)


def saved_answer(saved: CheckpointResult) -> CallToolResult:
    """The result with a saved checkpoint."""
    return make_result(shapes.CheckpointAnswer.model_validate(checkpoint_json(saved)))


def undone_answer(undone: UndoneWrite) -> CallToolResult:
    """The result of undoing a write."""
    return make_result(shapes.ForgetAnswer.model_validate({"verb": "undo"} | undone_json(undone)))


def edited_answer(edited: EditResult, *, dry_run: bool) -> CallToolResult:
    """The result of an edit: the memory that has the new values, and the differences."""
    memory = edited.memory
    body: Json = {
        "verb": "edit",
        "id": str(memory.id),
        "changed": 0 if dry_run or edited.outcome == EditOutcome.QUEUED else 1,
        "state": memory.state,
        "trust": memory.trust,
        "dry_run": dry_run,
        "outcome": edited.outcome,
        "why": edited.why,
        "proposal": str(edited.proposal) if edited.proposal else "",
        "changes": {name: values for name, values in edited.changes.items() if dry_run and name != "content"},
    }
    return make_result(shapes.ForgetAnswer.model_validate(body))


def feedback_answer(verb: str, given: Sequence[GivenFeedback]) -> CallToolResult:
    """The result of feedback."""
    recorded = sum(each.is_new for each in given)
    return make_result(shapes.ForgetAnswer.model_validate({"verb": verb, "recorded": recorded}))


def thread_answer(page: ThreadPage) -> CallToolResult:
    """A page of a thread; as text, turns and checkpoints between their marks."""
    turns = [{"id": str(turn.row.id), "text": turn.text, "is_cut": turn.is_cut} for turn in page.turns]
    saved = [
        {
            "id": str(each.row.id),
            "text": each.text,
            "created_at": as_json(each.row.created_at),
            "is_cut": each.is_cut,
        }
        for each in page.checkpoints
    ]
    answer = shapes.InspectAnswer(
        thread=page.thread,
        group=page.group,
        turns=turns,
        checkpoints=saved,
        threads={each.thread: each.count for each in page.threads},
        next=page.next,
        older=page.older,
    )
    return make_result(answer, text=page.text)


def recalls_answer(recalls: Sequence[LoggedRecall], following: str | None) -> CallToolResult:
    """Earlier recalls of a question: when, by whom, and the ids that came back."""
    rows = [
        {
            "at": as_json(each.row.at),
            "question": wrap("question", {}, each.row.query),
            "group": each.row.group.slug if each.row.group else "",
            "actor": each.row.actor,
            "ids": [str(memory.id) for memory, _ in each.hits],
            "abstained": each.row.abstained,
        }
        for each in recalls
    ]
    answer = shapes.InspectAnswer.model_validate({"recalls": rows, "next": following or ""})
    short = shorten_values(shorten_ids(drop_empty(answer.as_json())))
    head = (
        "Recalls of this question that you may read, newest first."
        if rows
        else "You may read no recall of this question."
    )
    return make_result(answer, text=f"{head}\n{to_compact_json(short)}" if rows else head)


def written_result(body: Json) -> CallToolResult:
    """The result of a write from its structured content, as JSON also in its text."""
    return CallToolResult(
        content=[TextContent(type="text", text=to_compact_json(body))], structured_content=body
    )


def memory_text(memory: Memory) -> str:
    """One whole memory between its marks."""
    return fence(memory, visible_content(memory), label=label_of(memory))


def make_result(answer: shapes.Answer, *, text: str = "") -> CallToolResult:
    """Structured content with its text; the text is the same as JSON unless given."""
    body = answer.as_json()
    return CallToolResult(
        content=[TextContent(type="text", text=text or to_compact_json(body))], structured_content=body
    )


def recalled_item(item: Item, body: Json, text: str, *, group: str) -> Json:
    """A recalled memory with its text between marks, date and source."""
    if item.coming is not None:
        body["coming"]["content"] = fence(
            item.coming, visible_content(item.coming), label=label_of(item.coming), group=group
        )
    # Names of threads and texts of turns are stored texts: they appear between marks or not at all.
    if item.also_in:
        body["also_in"] = [{"id": each["id"], "group": each["group"]} for each in body["also_in"]]
    if item.around:
        body["around"] = [str(turn.memory.id) for turn in item.around]
    return body | {
        "text": text,
        "date": f"{item.memory.moment:%Y-%m-%d}",
        "source": body["source"] or body["author"],
    }


def visible_content(memory: Memory, *, words: int | None = None) -> str:
    """The content of a memory, or its first words; that of a quarantined memory is withheld."""
    if memory.trust == Trust.QUARANTINED:
        return WITHHELD
    if words is None or len(memory.content.split()) <= words:
        return memory.content
    return f"{first_words(memory.content, words)} …"


def fence_excerpt(memory: Memory, *, group: str) -> str:
    """The first words of a memory between its marks."""
    return fence(memory, visible_content(memory, words=EXCERPT_WORDS), label=label_of(memory), group=group)


def fence_reason(reason: str) -> str:
    """A reason that somebody gave, between marks; empty without one."""
    return wrap("reason", {}, reason) if reason else ""


def shorten_values(value: Any) -> Any:
    """The JSON value with times to the minute and numbers to four digits, at any depth."""
    if isinstance(value, dict):
        return {name: shorten_values(part) for name, part in value.items()}
    if isinstance(value, list):
        return [shorten_values(part) for part in value]
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, str) and (found := _MOMENT.fullmatch(value)):
        return f"{found[1]}Z"
    return value


def shorten_ids(value: Any) -> Any:
    """The JSON value with short ids, at any depth."""
    if isinstance(value, dict):
        return {name: shorten_ids(part) for name, part in value.items()}
    if isinstance(value, list):
        return [shorten_ids(part) for part in value]
    return short_id(UUID(value)) if isinstance(value, str) and _FULL_ID.fullmatch(value) else value


def drop_empty(value: Any) -> Any:
    """The JSON value without nulls and empty strings, lists and objects, at any depth."""
    if isinstance(value, dict):
        rest = {name: drop_empty(part) for name, part in value.items()}
        return {name: part for name, part in rest.items() if part is not None and part not in ("", [], {})}
    return [drop_empty(part) for part in value] if isinstance(value, list) else value


def to_compact_json(body: Any) -> str:
    """JSON without spaces, in Unicode."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))
