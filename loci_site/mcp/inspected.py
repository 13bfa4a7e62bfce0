"""memory_inspect: a memory, an entity by its name, a relation, a thread, or what a question returned before, cut to the token budget."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

from mcp_types import CallToolResult

from access.actor import Actor
from access.answers import Json
from access.errors import InvalidInput
from access.visibility import Narrowing
from loci_site.mcp import result_schemas as shapes
from loci_site.mcp.calls import check_known_group
from loci_site.mcp.results import (
    MAX_LOG_ROWS,
    build,
    drop_empty,
    fence_excerpt,
    fence_reason,
    make_result,
    shorten_ids,
    shorten_values,
    to_compact_json,
    visible_content,
)
from memories.browse.inspection import Inspection, inspect_memory
from memories.browse.recalls import LoggedRecall, list_recalls, with_hits
from memories.browse.serializers import EdgeOut, InspectionOut
from memories.draft import check_range
from memories.embedding import Encoder
from memories.entities.lines import fence_relations
from memories.entities.statements import RelationStatement, find_statement
from memories.queries.quoting import fence, wrap
from memories.queries.snapshot import as_json
from memories.recall.budget import count_tokens, counting_encoder, cut_text
from memories.sessions.context_pack import MAX_TOKENS
from memories.sessions.thread_page import ThreadPage, read_thread
from memories.store.pieces import available_encoder

# Of an inspected memory: texts that its author chose, which its text has between marks.
_STORED_FIELDS: Final = ("thread", "tags", "source", "source_ref", "metadata")
# The parts of an inspection in the order in which a budget keeps them. Of a list, each value is kept or cut by itself.
PARTS: Final = (
    "memory", "why", "recall", "head", "curve", "relations", "versions", "links", "log", "log_rows", "feedback", "pieces",
    "pieces_owed", "fields", "steps",
)  # fmt: skip
_NAMED_FROM: Final = 150  # tokens: with a smaller budget, the remark does not name what is cut
_CONTENT_SHARE: Final = 0.5  # of the budget that a long text is sure of


class _Detail(NamedTuple):
    name: str
    value: Any


LISTS: Final = ("relations", "versions", "links", "log")


def _with_details(details: Sequence[_Detail]) -> Json:
    """The body with these values: set, appended to their list, or merged into their object."""
    body: Json = {}
    for name, value in details:
        if name == "fields":
            body["memory"] = body.get("memory", {}) | value
        elif name == "steps":
            body["why"] = body.get("why", {}) | {"steps": value}
        elif name in LISTS:
            body.setdefault(name, []).append(value)
        else:
            body[name] = value
    return body


def _inspected_answer(inspection: Inspection, token_budget: int | None = None) -> CallToolResult:
    """The result of an inspection; as text, content and chosen fields between marks, the rest as JSON.

    What exceeds the budget is cut: the end of the text, then the last of PARTS. The text names them, and the budget that
    shows all of it.
    """
    encoder = counting_encoder(available_encoder())
    content, details = visible_content(inspection.memory), _read_details(inspection)
    show = partial(_show_inspection, inspection)
    whole = show(content, details)
    needed = count_tokens(text_of(whole), encoder)
    if token_budget is None or needed <= token_budget:
        return whole
    shortened = _shorten_content(show, content, needed, token_budget, encoder)

    def attempt(kept: int) -> CallToolResult:
        names = ["content"] * (shortened != content) + [detail.name for detail in details[kept:]]
        return show(
            shortened, details[:kept], cut=[*dict.fromkeys(names)], whole_at=needed, budget=token_budget
        )

    return _largest_fitting(attempt, len(details), token_budget, encoder) or make_result(
        build(shapes.InspectAnswer, {"cut": ["content", *PARTS]}), text=_tell_cut([], needed, token_budget)
    )


def _read_details(inspection: Inspection) -> list[_Detail]:
    """What there is to tell of a memory besides its text, in the order of PARTS."""
    body = drop_empty(_fenced_inspection(inspection))
    memory = body["memory"]
    del memory["content"]
    fields = {name: memory.pop(name) for name in _STORED_FIELDS if name in memory}
    body |= {"fields": fields} if fields else {}
    if steps := body.get("why", {}).pop("steps", []):
        body["steps"] = steps
    return [
        _Detail(name, value)
        for name in PARTS
        if name in body
        for value in (body[name] if name in LISTS else [body[name]])
    ]


def _fenced_inspection(inspection: Inspection) -> Json:
    """The inspection as JSON, each stored text between marks."""
    body = InspectionOut.json(inspection)
    group = inspection.memory.group.slug
    body["versions"] = [
        version | {"content": fence_excerpt(row, group=group)}
        for version, row in zip(body["versions"], inspection.versions, strict=True)
        if len(inspection.versions) > 1
    ]
    body["relations"] = [_fenced_statement(each, group) for each in inspection.relations]
    log = [entry | {"reason": fence_reason(entry["reason"])} for entry in body["log"][:MAX_LOG_ROWS]]
    body |= {"log": log, "log_rows": len(body["log"]), "curve": body["curve"]["line"]}
    return body if inspection.feedback.in_words else body | {"feedback": {}}


def _fenced_statement(statement: RelationStatement, group: str) -> Json:
    """A relation as JSON, line and ends between marks."""
    body = EdgeOut.json(statement)
    body["line"] = fence_relations([body["line"]])
    for end, row in (("subject", statement.subject), ("object", statement.object)):
        body[end] |= {"content": fence_excerpt(row, group=group)}
    return body


def _show_inspection(
    inspection: Inspection,
    content: str,
    details: Sequence[_Detail],
    *,
    cut: Sequence[str] = (),
    whole_at: int = 0,
    budget: int = 0,
) -> CallToolResult:
    """An inspection with this part of its text and these details."""
    fenced = fence(inspection.memory, content, label=inspection.label)
    body = _with_details(details)
    body |= {"memory": body.get("memory", {}) | {"content": fenced}, "cut": [*cut]}
    answer = build(shapes.InspectAnswer, body)
    rest = shorten_values(shorten_ids(answer.as_json()))
    rest.pop("cut", None)
    facts = rest.pop("memory")
    del facts["content"]
    stored = {name: facts.pop(name) for name in _STORED_FIELDS if name in facts}
    rest = ({"memory": facts} if facts else {}) | rest
    blocks = [
        fenced,
        *([wrap("memory fields", {}, to_compact_json(stored))] if stored else []),
        *([to_compact_json(rest)] if rest else []),
        *([_tell_cut(cut, whole_at, budget)] if cut else []),
    ]
    return make_result(answer, text="\n".join(blocks))


def _shorten_content(
    show: Callable[..., CallToolResult], content: str, needed: int, budget: int, encoder: Encoder | None
) -> str:
    """The part of the text that the budget allows: all that its details leave, and at least its share."""
    around = count_tokens(
        text_of(show("", [], cut=["content", *PARTS], whole_at=needed, budget=budget)), encoder
    )
    details = needed - count_tokens(content, encoder)
    room = budget - around
    allowed = max(int(room * _CONTENT_SHARE), room - details)
    return content if count_tokens(content, encoder) <= allowed else cut_text(content, allowed, encoder)


def _largest_fitting(
    attempt: Callable[[int], CallToolResult], most: int, budget: int, encoder: Encoder | None
) -> CallToolResult | None:
    """attempt() with the largest number up to `most` whose text fits; None if even that with 0 does not."""
    low, high, best = 0, most, None
    while low <= high:
        middle = (low + high) // 2
        result = attempt(middle)
        if count_tokens(text_of(result), encoder) <= budget:
            best, low = result, middle + 1
        else:
            high = middle - 1
    return best


def _tell_cut(names: Sequence[str], whole_at: int, budget: int) -> str:
    """A line that says what is cut, if there is room, and the budget that shows all of it."""
    named = f": {', '.join(names)}" if names and budget >= _NAMED_FROM else ""
    return f"(Cut{named}. token_budget={(whole_at // 10 + 1) * 10} shows all.)"


def text_of(result: CallToolResult) -> str:
    """The text of a result."""
    return str(getattr(result.content[0], "text", ""))


def _relation_answer(statement: RelationStatement, token_budget: int | None = None) -> CallToolResult:
    """One relation with both ends and its evidence; as text, its line."""
    encoder = counting_encoder(available_encoder())
    edge = _fenced_statement(statement, statement.relation.group.slug)
    told = statement.line.show(statement.relation.group.slug)
    if token_budget is not None and count_tokens(fence_relations([told]), encoder) > token_budget:
        told = cut_text(told, token_budget - count_tokens(fence_relations([]), encoder), encoder)
    answer = build(shapes.InspectAnswer, {"relations": [drop_empty(edge)]})
    return make_result(answer, text=fence_relations([told]))


def _thread_answer(page: ThreadPage) -> CallToolResult:
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
    body: Json = {
        "thread": page.thread,
        "group": page.group,
        "turns": turns,
        "checkpoints": saved,
        "threads": {each.thread: each.count for each in page.threads},
        "next": page.next,
        "older": page.older,
    }
    return make_result(build(shapes.InspectAnswer, body), text=page.text)


def _recalls_answer(
    recalls: Sequence[LoggedRecall], following: str | None, token_budget: int | None = None
) -> CallToolResult:
    """Earlier recalls of a question: when, by whom, and the ids that came back; as many as fit, then a cursor."""
    encoder = counting_encoder(available_encoder())
    rows = [_logged_json(each, each.row.query) for each in recalls]

    def attempt(kept: int) -> CallToolResult:
        after = following if kept == len(rows) else recalls[kept - 1].id if kept else ""
        return _show_recalls(rows[:kept], after or "", is_cut=kept < len(rows))

    if token_budget is None or not rows:
        return attempt(len(rows))
    found = _largest_fitting(attempt, len(rows), token_budget, encoder)
    if found is not None and (found.structured_content or {}).get("recalls"):
        return found
    # Not even one fits: the first, without ids and with the beginning of its question.
    after = recalls[0].id if len(rows) > 1 else following or ""
    short = partial(_logged_json, recalls[0], with_ids=False)
    left = token_budget - count_tokens(text_of(_show_recalls([short("")], after, is_cut=True)), encoder)
    first = short(cut_text(recalls[0].row.query, left, encoder))
    result = _show_recalls([first], after, is_cut=True)
    fits = left > 0 and count_tokens(text_of(result), encoder) <= token_budget
    return result if fits else _show_recalls([], "", is_cut=True)


def _show_recalls(rows: Sequence[Json], following: str, *, is_cut: bool) -> CallToolResult:
    answer = build(
        shapes.InspectAnswer, {"recalls": rows, "next": following, "cut": ["recalls"] if is_cut else []}
    )
    if not rows:
        text = (
            "(Cut: no recall fits. Raise token_budget.)"
            if is_cut
            else "You may read no recall of this question."
        )
        return make_result(answer, text=text)
    short = shorten_values(shorten_ids(drop_empty(answer.as_json())))
    short.pop("cut", None)
    head = "Recalls of this question that you may read, newest first."
    end = ["(Cut: read on with cursor, or raise token_budget.)"] if is_cut else []
    return make_result(answer, text="\n".join([head, to_compact_json(short), *end]))


def _logged_json(recall: LoggedRecall, question: str, *, with_ids: bool = True) -> Json:
    """A recall of the log with this part of its question, between marks."""
    return {
        "at": as_json(recall.row.at),
        "question": wrap("question", {}, question),
        "group": recall.row.group.slug if recall.row.group else "",
        "actor": recall.row.actor,
        "ids": [str(memory.id) for memory, _ in recall.hits] if with_ids else [],
        "abstained": recall.row.abstained,
    }


_MAX_RECALLS = 20
MIN_BUDGET = 50  # of a memory or of recalls; a thread needs more, see memories.sessions.thread_page


@dataclass(frozen=True)
class InspectRequest:
    """The arguments of memory_inspect; `id` is None if it was not passed."""

    id: str | None = None
    thread: str = ""
    query: str = ""
    group: str = ""
    cursor: str = ""
    token_budget: int | None = None
    narrowing: Narrowing = field(default_factory=Narrowing)


def inspect_for_agent(actor: Actor, request: InspectRequest) -> CallToolResult:
    """The answer to memory_inspect.

    Raises:
        InvalidInput: the arguments do not fit together, or one is not allowed.
    """
    _check_arguments(request)
    if request.id is not None:
        if (statement := find_statement(actor, request.id)) is not None:
            return _relation_answer(statement, request.token_budget)
        found = inspect_memory(actor, request.id, query=request.query, narrowing=request.narrowing)
        return _inspected_answer(found, request.token_budget)
    if request.group or not request.query:
        check_known_group(actor, request.group)
    if request.query:
        page = list_recalls(
            actor,
            question=request.query,
            group=request.group or None,
            cursor=request.cursor,
            limit=_MAX_RECALLS,
        )
        return _recalls_answer(with_hits(actor, page.rows), page.next, request.token_budget)
    return _thread_answer(
        read_thread(
            actor,
            request.thread,
            group=request.group or None,
            cursor=request.cursor,
            token_budget=request.token_budget,
            narrowing=request.narrowing,
        )
    )


def _check_arguments(request: InspectRequest) -> None:
    """Raise InvalidInput if the arguments do not fit together, or the id or the budget is not allowed."""
    if request.id is not None and not request.id.strip():
        raise InvalidInput(
            "id is empty.", hint="Pass a memory's id or an entity's name, or leave id out.", field="id"
        )
    if request.id and request.thread:
        raise InvalidInput("Pass either an id or a thread.", hint="Not both.", field="thread")
    if request.thread and request.query:
        raise InvalidInput(
            "A question does not go with a thread.",
            hint="recall_memory with where.thread searches in one.",
            field="query",
        )
    if request.token_budget is not None and (request.id or request.query):
        check_range(request.token_budget, MIN_BUDGET, MAX_TOKENS, field="token_budget")
