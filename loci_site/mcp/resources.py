"""Resources (a memory by its id, the context pack of a group), and prompts for session start, decision, session end, correction."""

from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp_types import Completion, Resource
from pydantic import Field

from access.actor import READ
from access.errors import NotFound
from access.groups import entered_groups
from loci_site.mcp.calls import current_actor
from loci_site.mcp.results import memory_text
from loci_site.server.db_threads import in_db_thread
from memories.queries.quoting import escape
from memories.queries.versions import find_current
from memories.sessions.context_pack import get_context
from memories.store.withdrawn.left_out import hiding_marks
from memories.types import RecallTreatment, recall_treatment

MEMORY, PACK = "loci://memories/{id}", "loci://groups/{slug}/context"
_MIME_TYPE = "text/markdown"
MAX_LISTED = 100  # also the protocol's limit for a completion


def add_to(server: MCPServer[Any]) -> None:
    """Register resources and prompts with the server."""
    server.resource(MEMORY, name="memory", title="A memory", mime_type=_MIME_TYPE)(read_memory)
    server.resource(PACK, name="context", title="Context of a group", mime_type=_MIME_TYPE)(_read_pack)
    for prompt, title in (
        (start_session, "Start a session"),
        (before_decision, "Before a decision"),
        (end_session, "End a session"),
        (correct_fact, "Correct a fact"),
    ):
        server.prompt(title=title)(prompt)


@in_db_thread
def read_memory(id: str) -> str:  # noqa: A002 - the template's variable
    """One memory, the version that counts now, with its trust, date and source."""
    memory = find_current(current_actor(), id)
    if recall_treatment(memory.state, memory.trust) is RecallTreatment.HIDE or hiding_marks(memory):
        raise NotFound(
            f"The memory is {memory.state} and {memory.trust}, and recall leaves it out, so it cannot be read here.",
            hint="memory_inspect shows why.",
            field="id",
        )
    return memory_text(memory)


@in_db_thread
def _read_pack(slug: str) -> str:
    """What to know at the start of a session in this group."""
    return get_context(current_actor(), group=slug).text


@in_db_thread
def list_packs() -> list[Resource]:
    """The context pack of each group that the caller may read, by slug; at most MAX_LISTED."""
    return [
        Resource(
            uri=PACK.replace("{slug}", slug),
            name=f"context of {slug}",
            title=f"Context of {slug}",
            description="What to know at the start of a session in this group.",
            mime_type=_MIME_TYPE,
        )
        for slug in _readable_slugs()[:MAX_LISTED]
    ]


@in_db_thread
def complete_group(start: str) -> Completion:
    """The groups that the caller may read and whose slug begins with `start`."""
    slugs = [slug for slug in _readable_slugs() if slug.startswith(start.lower())]
    return Completion(values=slugs[:MAX_LISTED], total=len(slugs), has_more=len(slugs) > MAX_LISTED)


def _readable_slugs() -> list[str]:
    actor = current_actor()
    return sorted(group.slug for group in entered_groups(actor, READ))


Group = Annotated[str, Field(description="the project; absent: the token's default")]


@in_db_thread
def start_session(
    task: Annotated[str, Field(description="what the session is about")] = "", group: Group = ""
) -> str:
    """Start with the team's memory of this project and task."""
    pack = get_context(current_actor(), group=group or None, query=task).text
    goal = f"The task of this session: {escape(task)}\n\n" if task.strip() else ""
    return (
        f"{goal}{pack}\n\nUse this. Recall more with recall_memory before you decide or change something, "
        "and store what you learn with store_memory as soon as you learn it."
    )


async def before_decision(
    decision: Annotated[str, Field(description="what is to be decided")], group: Group = ""
) -> str:
    """Look for earlier decisions before making a new one."""
    return (
        f"A decision is due: {escape(decision)}\n\n"
        f"First search the team's memory{_name_group(group)}: recall_memory with the question in plain words, and again with "
        "the names involved. Report what was decided before, when and why, and whether it still holds; say so "
        "plainly if nothing is stored. Then propose. Once it is decided, store_memory the decision with its reason, "
        "with supersedes if it replaces an older one."
    )


async def end_session(group: Group = "") -> str:
    """Store what this session has taught, and the state of the work."""
    return (
        f"The session ends. For the team's memory{_name_group(group)}:\n"
        "1. List what a colleague should know next month: decisions and their reasons, facts, ways of doing, fixes "
        "and their causes, preferences. Leave out what the code or its history already shows, and every secret.\n"
        "2. store_memory each one, as a self-contained statement; if it replaces an older memory, find that "
        "with recall_memory and pass its id as supersedes.\n"
        "3. Save a checkpoint: what is done, what is next and what is open.\n"
        "4. Report in one line each what was stored, what was confirmed and what needs a person."
    )


async def correct_fact(
    wrong: Annotated[str, Field(description="what is wrong")],
    right: Annotated[str, Field(description="what is right, if known")] = "",
    group: Group = "",
) -> str:
    """Correct a memory that is wrong or no longer true."""
    known = f"\nCorrect is: {escape(right)}" if right.strip() else ""
    return (
        f"This is wrong: {escape(wrong)}{known}\n\n"
        f"Find the memory{_name_group(group)} with recall_memory and look at it with memory_inspect. If it was true and has "
        "changed, store_memory the new statement with supersedes. If it was never true, forget_memory with the verb "
        "retract and the reason, then store the correct statement. If it is not certain, use the verb dispute. "
        "Report the ids of what you changed."
    )


def _name_group(group: str) -> str:
    """The group in parentheses for a prompt; empty if it is the default."""
    return f" (group '{escape(group)}')" if group.strip() else ""
