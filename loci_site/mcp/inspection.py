"""What memory_inspect shows: a memory, an entity by its name, a relation, a thread, or what a question returned before."""

from dataclasses import dataclass, field

from mcp_types import CallToolResult

from access.actor import Actor
from access.errors import InvalidInput
from access.visibility import Narrowing
from loci_site.mcp import inspected as answers
from loci_site.mcp.arguments import check_known_group
from memories.browse.inspection import inspect_memory
from memories.browse.recalls import list_recalls, with_hits
from memories.draft import check_range
from memories.entities.statements import find_statement
from memories.sessions.context_pack import MAX_TOKENS
from memories.sessions.thread_page import read_thread

MAX_RECALLS = 20
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
    check_arguments(request)
    if request.id is not None:
        return inspect_id(actor, request, request.id)
    if request.group or not request.query:
        check_known_group(actor, request.group)
    if request.query:
        page = list_recalls(
            actor,
            question=request.query,
            group=request.group or None,
            cursor=request.cursor,
            limit=MAX_RECALLS,
        )
        return answers.recalls_answer(with_hits(actor, page.rows), page.next, request.token_budget)
    return answers.thread_answer(
        read_thread(
            actor,
            request.thread,
            group=request.group or None,
            cursor=request.cursor,
            token_budget=request.token_budget,
            narrowing=request.narrowing,
        )
    )


def check_arguments(request: InspectRequest) -> None:
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


def inspect_id(actor: Actor, request: InspectRequest, id_: str) -> CallToolResult:
    """The memory, or the relation, of this id, or the entity of this name."""
    if (statement := find_statement(actor, id_)) is not None:
        return answers.relation_answer(statement, request.token_budget)
    found = inspect_memory(actor, id_, query=request.query, narrowing=request.narrowing)
    return answers.inspected_answer(found, request.token_budget)
