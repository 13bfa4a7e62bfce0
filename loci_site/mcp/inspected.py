"""memory_inspect: a memory, an entity by its name, a relation, a thread, or what a question returned before, cut to the token budget."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final

from access.actor import Actor
from access.answers import Json
from access.errors import InvalidInput
from access.visibility import Narrowing
from loci_site.mcp.calls import check_known_group
from loci_site.mcp.results import (
    MAX_LOG_ROWS,
    drop_empty,
    fence_excerpt,
    fence_reason,
    shorten_ids,
    shorten_values,
    shown,
    to_compact_json,
    visible_content,
)
from memories.browse.inspection import Inspection, inspect_memory
from memories.browse.recalls import LoggedRecall, list_recalls, with_hits
from memories.browse.serializers import EdgeOut, InspectionOut
from memories.draft import check_range
from memories.entities.lines import fence_relations
from memories.entities.statements import RelationStatement, find_statement
from memories.models.short_id import short_id
from memories.queries.quoting import escape, fence, wrap
from memories.queries.snapshot import as_json
from memories.recall.budget import count_tokens, counting_encoder, cut_text
from memories.sessions.context_pack import MAX_TOKENS
from memories.sessions.thread_page import read_thread
from memories.store.pieces import available_encoder

# Of an inspected memory: texts that its author chose, which stand between marks of their own.
_STORED_FIELDS: Final = ("thread", "tags", "source", "source_ref", "metadata")
# The parts of an inspection in their order, in which a budget keeps them; of a list, each value is a line.
_PARTS: Final = (
    "memory", "why", "recall", "head", "curve", "relations", "versions", "links", "log", "log_rows", "feedback", "pieces",
    "pieces_owed", "fields", "steps",
)  # fmt: skip
_NAMED_FROM: Final = 150  # tokens: with a smaller budget, the remark does not name what is cut
_CONTENT_SHARE: Final = 0.5  # of the budget that a long text is sure of
_RECALLS_HEAD: Final = "Recalls of this question that you may read, newest first."
_RECALLS_CUT: Final = "(Cut: read on with cursor, or raise token_budget.)"


def _inspected_text(inspection: Inspection, token_budget: int | None = None) -> str:
    """A memory between marks, and a line for each detail: its name and JSON.

    What exceeds the budget is cut: the end of the memory's text, then the last of _PARTS. A remark names them, and the
    budget that shows all.
    """
    encoder = counting_encoder(available_encoder())
    content, lines = visible_content(inspection.memory), _detail_lines(inspection)

    def show(text: str, kept: Sequence[tuple[str, str]], *remarks: str) -> str:
        fenced = fence(inspection.memory, text, label=inspection.label)
        return "\n".join([fenced, *(line for _, line in kept), *remarks])

    whole = show(content, lines)
    needed = count_tokens(whole, encoder)
    if token_budget is None or needed <= token_budget:
        return whole
    room = token_budget - count_tokens(
        show("", [], _tell_cut(["content", *_PARTS], needed, token_budget)), encoder
    )
    costs = [count_tokens(f"{line}\n", encoder) for _, line in lines]
    allowed = max(int(room * _CONTENT_SHARE), room - sum(costs))
    is_cut = count_tokens(escape(content), encoder) > allowed
    content = cut_text(content, allowed, encoder) if is_cut else content
    kept = _count_fitting(costs, room - count_tokens(escape(content), encoder))
    names = dict.fromkeys(["content"] * is_cut + [name for name, _ in lines[kept:]])
    remark = _tell_cut([*names], needed, token_budget)
    return show(content, lines[:kept], remark) if room >= 0 else _tell_cut([], needed, token_budget)


def _count_fitting(costs: Iterable[int], room: int) -> int:
    """How many of the first costs fit together."""
    return sum(spent <= room for spent in accumulate(costs))


def _tell_cut(names: Sequence[str], whole_at: int, budget: int) -> str:
    """A line that says what is cut, if there is room, and the budget that shows all of it."""
    named = f": {', '.join(names)}" if names and budget >= _NAMED_FROM else ""
    return f"(Cut{named}. token_budget={(whole_at // 10 + 1) * 10} shows all.)"


def _detail_lines(inspection: Inspection) -> list[tuple[str, str]]:
    """The details of a memory in the order of _PARTS: the name of each, and its line."""
    body = _fenced_inspection(inspection)
    memory = body["memory"]
    del memory["content"]
    fields = shown({name: memory.pop(name) for name in _STORED_FIELDS})
    body = shown(shorten_values(shorten_ids(drop_empty(body))))
    # A relation has no short id.
    for edge, statement in zip(body.get("relations", ()), inspection.relations, strict=False):
        edge["id"] = str(statement.relation.id)
    body |= {"steps": body.get("why", {}).pop("steps", []), "fields": fields}
    return [
        (name, wrap("memory fields", {}, to_compact_json(fields)) if name == "fields" else _line(name, value))
        for name in _PARTS
        if body.get(name)
        for value in (body[name] if isinstance(body[name], list) else [body[name]])
    ]


def _line(name: str, value: Any) -> str:
    return f"{name}: {value if isinstance(value, str) else to_compact_json(value)}"


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


def _relation_text(statement: RelationStatement, token_budget: int | None = None) -> str:
    """The line of a relation between marks, and if the budget has room, its ends and evidence as JSON."""
    encoder = counting_encoder(available_encoder())
    group = statement.relation.group.slug
    told = statement.line.show(group)
    edge = {**_fenced_statement(statement, group), "line": ""}
    body = shown(shorten_values(shorten_ids(drop_empty(edge)))) | {"id": str(statement.relation.id)}
    whole = f"{fence_relations([told])}\n{to_compact_json(body)}"
    if token_budget is None or count_tokens(whole, encoder) <= token_budget:
        return whole
    if count_tokens(fence_relations([told]), encoder) > token_budget:
        told = cut_text(told, token_budget - count_tokens(fence_relations([]), encoder), encoder)
    return fence_relations([told])


def _recalls_text(
    recalls: Sequence[LoggedRecall], following: str | None, token_budget: int | None = None
) -> str:
    """Earlier recalls of a question, a line each: when, by whom, and the ids that came back; as many as fit, then a cursor."""
    if not recalls:
        return "You may read no recall of this question."
    encoder = counting_encoder(available_encoder())
    lines = [_recall_line(each, each.row.query) for each in recalls]

    def show(kept: Sequence[str], cursor: str, *remarks: str) -> str:
        return "\n".join([_RECALLS_HEAD, *kept, *([f"(More: cursor={cursor})"] if cursor else []), *remarks])

    whole = show(lines, following or "")
    if token_budget is None or count_tokens(whole, encoder) <= token_budget:
        return whole
    costs = [count_tokens(f"{line}\n", encoder) for line in lines]
    kept = _count_fitting(costs, token_budget - count_tokens(show([], recalls[-1].id, _RECALLS_CUT), encoder))
    if kept:
        return show(lines[:kept], recalls[kept - 1].id, _RECALLS_CUT)
    # Not even one fits: the first, without ids and with the beginning of its question.
    after = recalls[0].id if len(recalls) > 1 else following or ""
    empty = show([_recall_line(recalls[0], "", with_ids=False)], after, _RECALLS_CUT)
    question = cut_text(recalls[0].row.query, token_budget - count_tokens(empty, encoder), encoder)
    text = show([_recall_line(recalls[0], question, with_ids=False)], after, _RECALLS_CUT)
    fits = question and count_tokens(text, encoder) <= token_budget
    return text if fits else "(Cut: no recall fits. Raise token_budget.)"


def _recall_line(recall: LoggedRecall, question: str, *, with_ids: bool = True) -> str:
    """A recall of the log as JSON, with this part of its question between marks."""
    body = {
        "at": as_json(recall.row.at),
        "question": wrap("question", {}, question),
        "group": recall.row.group.slug if recall.row.group else "",
        "actor": recall.row.actor,
        "ids": [short_id(memory.id) for memory, _ in recall.hits] if with_ids else [],
        "abstained": recall.row.abstained,
    }
    return to_compact_json(shown(shorten_values(body)))


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


def inspect_for_agent(actor: Actor, request: InspectRequest) -> str:
    """The answer to memory_inspect.

    Raises:
        InvalidInput: the arguments do not fit together, or one is not allowed.
    """
    _check_arguments(request)
    if request.id is not None:
        if (statement := find_statement(actor, request.id)) is not None:
            return _relation_text(statement, request.token_budget)
        found = inspect_memory(actor, request.id, query=request.query, narrowing=request.narrowing)
        return _inspected_text(found, request.token_budget)
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
        return _recalls_text(with_hits(actor, page.rows), page.next, request.token_budget)
    return read_thread(
        actor,
        request.thread,
        group=request.group or None,
        cursor=request.cursor,
        token_budget=request.token_budget,
        narrowing=request.narrowing,
    ).text


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
