"""Resources: one memory by its id, and the context pack of a group."""

from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp_types import Completion, Resource

from access.actor import READ
from access.errors import NotFound
from access.groups import entered_groups
from loci_site.mcp.auth import current_actor
from loci_site.mcp.results import memory_text
from loci_site.server.db_threads import in_db_thread
from memories.queries.versions import find_memory, head_of
from memories.sessions.context_pack import get_context
from memories.types import RecallTreatment, recall_treatment

MEMORY, PACK = "loci://memories/{id}", "loci://groups/{slug}/context"
MIME_TYPE = "text/markdown"
MAX_LISTED = 100  # also the protocol's limit for a completion


def add_to(server: MCPServer[Any]) -> None:
    """Register both kinds of resources with the server."""
    server.resource(MEMORY, name="memory", title="A memory", mime_type=MIME_TYPE)(read_memory)
    server.resource(PACK, name="context", title="Context of a group", mime_type=MIME_TYPE)(read_pack)


async def read_memory(id: str) -> str:  # noqa: A002 - the template's variable
    """One memory, the version that counts now, with its trust, date and source."""
    return await find_memory_text(id)


async def read_pack(slug: str) -> str:
    """What to know at the start of a session in this group."""
    return await build_pack_text(slug)


@in_db_thread
def find_memory_text(id_: str) -> str:
    """The current version of a memory between its marks. Raises NotFound, also if it is hidden."""
    memory = head_of(find_memory(current_actor(), id_))
    if recall_treatment(memory.state, memory.trust) is RecallTreatment.HIDE:
        raise NotFound(
            f"The memory is {memory.state} and {memory.trust}, so it cannot be read here.",
            hint="memory_inspect shows why.",
            field="id",
        )
    return memory_text(memory)


@in_db_thread
def build_pack_text(slug: str) -> str:
    """The context pack of a group for the caller."""
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
            mime_type=MIME_TYPE,
        )
        for slug in readable_slugs()[:MAX_LISTED]
    ]


@in_db_thread
def complete_group(start: str) -> Completion:
    """The groups that the caller may read and whose slug begins with `start`."""
    slugs = [slug for slug in readable_slugs() if slug.startswith(start.lower())]
    return Completion(values=slugs[:MAX_LISTED], total=len(slugs), has_more=len(slugs) > MAX_LISTED)


def readable_slugs() -> list[str]:
    """The slugs of the groups that the caller may read, in order."""
    actor = current_actor()
    return sorted(group.slug for group in entered_groups(actor) if actor.may(READ, group.key))
