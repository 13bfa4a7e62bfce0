"""What memory_inspect shows: a memory, an entity by its name, a thread, or what a question returned before."""

from dataclasses import dataclass, field

from mcp_types import CallToolResult

from access.actor import Actor
from access.errors import InvalidInput
from access.visibility import Narrowing
from loci_site.mcp import inspected as answers
from memories.browse.inspection import inspect_memory
from memories.browse.recalls import list_recalls, with_hits
from memories.sessions.thread_page import read_thread

MAX_RECALLS = 20


@dataclass(frozen=True)
class InspectRequest:
    """The arguments of memory_inspect."""

    id: str = ""
    thread: str = ""
    query: str = ""
    group: str = ""
    cursor: str = ""
    token_budget: int | None = None
    narrowing: Narrowing = field(default_factory=Narrowing)


def inspect_for_agent(actor: Actor, request: InspectRequest) -> CallToolResult:
    """The answer to memory_inspect.

    Raises:
        InvalidInput: the arguments do not fit together.
    """
    if request.id and request.thread:
        raise InvalidInput("Pass either an id or a thread.", hint="Not both.", field="thread")
    if request.thread and request.query:
        raise InvalidInput(
            "A question does not go with a thread.",
            hint="recall_memory with where.thread searches in one.",
            field="query",
        )
    if request.id:
        found = inspect_memory(actor, request.id, query=request.query, narrowing=request.narrowing)
        return answers.inspected_answer(found)
    if request.query:
        page = list_recalls(
            actor,
            question=request.query,
            group=request.group or None,
            cursor=request.cursor,
            limit=MAX_RECALLS,
        )
        return answers.recalls_answer(with_hits(actor, page.rows), page.next)
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
