"""Results of tools from the services' answers: structured content, and text that is compact JSON or fenced memories."""

import json
import re
from typing import Any, TypeVar
from uuid import UUID

from mcp_types import CallToolResult, TextContent

from access.answers import Json
from loci_site.mcp import result_schemas as shapes
from memories.browse.serializers import WITHHELD, DoneOut, PackOut, RecalledOut, StoredOut
from memories.entities.lines import fence_relations
from memories.language.cleaning import first_words
from memories.lifecycle.edit import EditOutcome, EditResult
from memories.lifecycle.target import ChangeResult
from memories.models import Memory
from memories.models.short_id import short_id
from memories.queries.labels import label_of
from memories.queries.quoting import Marked, escape_all, fence, wrap
from memories.recall import Item, RecallResult
from memories.sessions.context_pack import ContextPack
from memories.store import StoreResult
from memories.types import Trust
from sources.artifacts.evidence import EVIDENCE_ALONE, Evidence

_AnswerShape = TypeVar("_AnswerShape", bound=shapes.ToolResult)
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d):\d\d(?:\.\d+)?(?:Z|\+00:00)")
_FULL_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_EXCERPT_WORDS = 30  # of neighbours and other versions
MAX_LOG_ROWS = 10
_NO_EVIDENCE = "No file answers this."


def stored_answer(stored: StoreResult) -> CallToolResult:
    """The result of a store; neighbours with excerpts."""
    body = StoredOut.json(stored)
    for near, neighbour in zip(body["near"], stored.neighbours, strict=True):
        near["content"] = fence_excerpt(neighbour.memory, group=stored.group)
    return make_result(build(shapes.StoreAnswer, body))


def recalled_answer(recalled: RecallResult, evidence: Evidence | None = None) -> CallToolResult:
    """The result of a recall; in the text, each memory and chunk is between its marks."""
    body = RecalledOut.json(recalled)
    items, name = (recalled.items, "results") if recalled.items else (recalled.nearest, "nearest")
    shown = [item.between_marks(recalled.group) for item in items]
    body[name] = [
        _recalled_item(item, part, text, group=recalled.group)
        for item, part, text in zip(items, body[name], shown, strict=True)
    ]
    body["missing"] = body["missing"][: recalled.missing_named]
    for line in body.get("relations", ()):
        line["line"] = fence_relations([line["line"]])
    text = recalled.show(shown)
    if evidence is not None:
        body["evidence"] = [
            {"id": str(item.id), "at": item.locator, "text": item.between_marks(), "score": item.score}
            for item in evidence.items
        ]
        memories = "" if recalled.mode == EVIDENCE_ALONE else text
        text = "\n\n".join(filter(None, [memories, evidence.show()])) or _NO_EVIDENCE
    return make_result(build(shapes.RecallAnswer, body), text=text)


def done_answer(done: ChangeResult) -> CallToolResult:
    """The result of a verb; it lists the changed fields for a dry run only."""
    body = DoneOut.json(done)
    return make_result(build(shapes.ForgetAnswer, body if done.dry_run else body | {"changes": {}}))


def plain_answer(shape: type[shapes.ToolResult], about: Any) -> CallToolResult:
    """The result about what a service returned, where the agent's part of its answer is all that there is to show."""
    return make_result(build(shape, shape.declared.json(about)))


def packed_answer(pack: ContextPack) -> CallToolResult:
    """The result with a context pack, which is also its text."""
    return make_result(
        build(shapes.ContextAnswer, PackOut.json(pack) | {"text": Marked(pack.text)}), text=pack.text
    )


def edited_answer(edited: EditResult, *, dry_run: bool) -> CallToolResult:
    """The result of an edit: the memory that has the new values, and the differences."""
    memory = edited.memory
    return changed_answer(
        "edit",
        id=str(memory.id),
        changed=0 if dry_run or edited.outcome == EditOutcome.QUEUED else 1,
        state=memory.state,
        trust=memory.trust,
        dry_run=dry_run,
        outcome=edited.outcome,
        why=edited.why,
        proposal=str(edited.proposal) if edited.proposal else "",
        changes={name: values for name, values in edited.changes.items() if dry_run and name != "content"},
    )


def changed_answer(verb: str, **facts: Any) -> CallToolResult:
    """The result of a verb that has none of its own class."""
    return make_result(build(shapes.ForgetAnswer, {"verb": verb, **facts}))


def written_result(body: Json, text: str = "") -> CallToolResult:
    """Structured content with its text; the text is the same as JSON unless given."""
    return CallToolResult(
        content=[TextContent(type="text", text=text or to_compact_json(body))], structured_content=body
    )


def memory_text(memory: Memory) -> str:
    """One whole memory between its marks."""
    return fence(memory, visible_content(memory), label=label_of(memory))


def build(shape: type[_AnswerShape], body: Json) -> _AnswerShape:
    """The answer of a JSON value in which no stored text can pass for a mark of ours."""
    return shape.model_validate(escape_all(body))


def make_result(answer: shapes.ToolResult, *, text: str = "") -> CallToolResult:
    """The result of an answer."""
    return written_result(answer.as_json(), text)


def _recalled_item(item: Item, body: Json, text: str, *, group: str) -> Json:
    """A recalled memory with its text between marks, date and source."""
    if item.coming is not None:
        body["coming"]["content"] = fence(
            item.coming, visible_content(item.coming), label=label_of(item.coming), group=group
        )
    # Names of threads and texts of turns are stored texts: they appear between marks or not at all.
    if item.also_in:
        body["also_in"] = [{"id": each["id"], "group": each["group"]} for each in body["also_in"]]
    if item.events:
        body["events"] = [str(memory.id) for memory in item.events]
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
    return fence(memory, visible_content(memory, words=_EXCERPT_WORDS), label=label_of(memory), group=group)


def fence_reason(reason: str) -> str:
    """A reason between marks; empty without one."""
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
