"""Routes for groups and their statistics."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from access.groups import GroupChange, create_group, entered_groups, find_group, update_group
from loci_site.api.auth import actor_of
from loci_site.api.responses import answer
from loci_site.api.schemas.answers import list_of, responses
from loci_site.api.schemas.requests import GroupEditIn, GroupIn, PartMoveIn, PartMoveUndoIn
from maintenance.schedule.wording import StatsOut
from memories.browse.listing import GroupOut, group_json
from memories.lifecycle.regroup.move import PartFilter, PartMove, move_memories, move_memories_back
from memories.review.stats import memory_stats

router = Router(tags=["groups"])


@router.get("/groups", response=responses(list_of(GroupOut)))
def list_groups(request: HttpRequest) -> HttpResponse:
    """List the groups that the caller may enter, by slug."""
    return answer(
        {"items": [group_json(actor_of(request), group) for group in entered_groups(actor_of(request))]}
    )


@router.post("/groups", response=responses(GroupOut, 201))
def add_group(request: HttpRequest, body: GroupIn) -> HttpResponse:
    """Create a group; its creator becomes its admin. `private` can later be changed only by the command `group update`."""
    group = create_group(actor_of(request), **dict(body))
    return answer(group_json(actor_of(request), group), status=201)


@router.get("/groups/{slug}", response=responses(GroupOut))
def read_group(request: HttpRequest, slug: str) -> HttpResponse:
    """Read one group."""
    return answer(group_json(actor_of(request), find_group(actor_of(request), slug)))


@router.patch("/groups/{slug}", response=responses(GroupOut))
def change_group(request: HttpRequest, slug: str, body: GroupEditIn) -> HttpResponse:
    """Change a group's title, instructions or policy, or archive it. Only for an admin of the group."""
    change = GroupChange(**body.model_dump())
    return answer(group_json(actor_of(request), update_group(actor_of(request), slug, change)))


@router.post("/groups/{slug}/move-memories", response=responses(PartMove))
def move_part(request: HttpRequest, slug: str, body: PartMoveIn) -> HttpResponse:
    """Move a group's current memories, or those of these types, tags and sources, to another group; ids stay. What the
    other group does not take stays, with the reason. For a person who curates both groups; `run` of the answer takes it back.
    """
    wanted = PartFilter(tuple(body.types), tuple(body.tags), tuple(body.sources))
    done = move_memories(
        actor_of(request), slug, to=body.to, wanted=wanted, reason=body.reason, dry_run=body.dry_run
    )
    return answer(PartMove.json(done))


@router.post("/groups/{slug}/move-memories/undo", response=responses(PartMove))
def undo_part_move(request: HttpRequest, slug: str, body: PartMoveUndoIn) -> HttpResponse:
    """Take a move from this group back, by its `run`; all of it or nothing. For a person who curates both groups."""
    return answer(PartMove.json(move_memories_back(actor_of(request), slug, **dict(body))))


@router.get("/stats", response=responses(StatsOut))
def read_stats(request: HttpRequest, group: str | None = None, everywhere: bool = False) -> HttpResponse:
    """Statistics of a group, or with `everywhere` of all that the caller may see."""
    return answer(StatsOut.json(memory_stats(actor_of(request), group=group, everywhere=everywhere)))
