"""Results of tools: text alone of what is read; compact JSON, under a schema, of what is written or counted."""

import json
import re
from typing import Any
from uuid import UUID

from mcp_types import CallToolResult, TextContent

from access.answers import Json
from memories.browse.serializers import WITHHELD, DoneOut, RecalledOut, StoredOut
from memories.language.cleaning import first_words
from memories.lifecycle.edit import EditOutcome, EditResult
from memories.lifecycle.target import ChangeResult
from memories.models import Memory
from memories.models.short_id import short_id
from memories.queries.labels import label_of
from memories.queries.quoting import escape_all, fence, wrap
from memories.recall import RecallResult
from memories.store import StoreResult
from memories.types import Trust
from sources.artifacts.evidence import EVIDENCE_ALONE, Evidence

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d):\d\d(?:\.\d+)?(?:Z|\+00:00)")
_FULL_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_EXCERPT_WORDS = 30  # of neighbours and other versions
MAX_LOG_ROWS = 10
_NO_EVIDENCE = "No file answers this."


def text_result(text: str) -> CallToolResult:
    """The result that is text alone: some clients show a model only the structured part where there is one, others only the text."""
    return CallToolResult(content=[TextContent(type="text", text=text)])


def json_result(body: Json) -> CallToolResult:
    """The result that is JSON, as a structured part and as text."""
    return CallToolResult(
        content=[TextContent(type="text", text=to_compact_json(body))], structured_content=body
    )


def recalled_text(recalled: RecallResult, evidence: Evidence | None = None) -> str:
    """The answer of a recall; each memory and chunk is between its marks."""
    text = "" if evidence is not None and recalled.mode == EVIDENCE_ALONE else recalled.show()
    files = evidence.show() if evidence is not None else ""
    explanation = _explain(recalled) if recalled.trace is not None else ""
    return "\n\n".join(filter(None, [text, files, explanation])) or _NO_EVIDENCE


def _explain(recalled: RecallResult) -> str:
    """Scores and steps of a recall as JSON."""
    body = RecalledOut.json(recalled)
    scores = {
        short_id(UUID(each["id"])): {"score": each["score"], **each.get("numbers", {})}
        for each in body["results"] or body["nearest"]
    }
    return to_compact_json(shown(shorten_ids({"scores": scores, "steps": body["explain"]})))


def stored_body(stored: StoreResult) -> Json:
    """The result of a store; neighbours with excerpts."""
    body = StoredOut.json(stored)
    for near, neighbour in zip(body["near"], stored.neighbours, strict=True):
        near["content"] = fence_excerpt(neighbour.memory, group=stored.group)
        del near["untrusted"]
    if not body["removed_characters"]:
        del body["removed_characters"]
    body["findings"] = [{"words": each["words"], "kind": each["kind"]} for each in body.get("findings", ())]
    return shown(body)


def done_body(done: ChangeResult) -> Json:
    """The result of a verb; it lists the changed fields for a dry run only."""
    body = DoneOut.json(done)
    return shown(body if done.dry_run else body | {"changes": {}})


def edited_body(edited: EditResult, *, dry_run: bool) -> Json:
    """The result of an edit: the memory that has the new values, and the differences."""
    memory = edited.memory
    return shown(
        {
            "verb": "edit",
            "id": str(memory.id),
            "changed": 0 if dry_run or edited.outcome == EditOutcome.QUEUED else 1,
            "state": memory.state,
            "trust": memory.trust,
            "dry_run": dry_run,
            "outcome": edited.outcome,
            "why": edited.why,
            "proposal": str(edited.proposal) if edited.proposal else "",
            "changes": {
                name: values for name, values in edited.changes.items() if dry_run and name != "content"
            },
        }
    )


def shown(body: Json) -> Json:
    """The body without what says nothing; no stored text or key in it can pass for a mark of ours."""
    kept = {name: part for name, part in body.items() if part not in (None, "", [], {}) and part is not False}
    escaped: Json = escape_all(kept)
    return escaped


def memory_text(memory: Memory) -> str:
    """One whole memory between its marks."""
    return fence(memory, visible_content(memory), label=label_of(memory))


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
    """The JSON value without nulls, empty strings, lists and objects, and `untrusted`, which marks say; at any depth."""
    if isinstance(value, dict):
        rest = {name: drop_empty(part) for name, part in value.items() if name != "untrusted"}
        return {name: part for name, part in rest.items() if part is not None and part not in ("", [], {})}
    return [drop_empty(part) for part in value] if isinstance(value, list) else value


def to_compact_json(body: Any) -> str:
    """JSON without spaces, in Unicode."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))
