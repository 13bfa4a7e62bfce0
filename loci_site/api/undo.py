"""The route that undoes a write."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from loci_site.api.auth import actor_of
from loci_site.api.responses import answer
from loci_site.api.schemas import responses as out
from loci_site.api.schemas.requests import UndoWriteIn
from memories.browse.serializers import undone_json
from memories.lifecycle.undo import undo_write

router = Router(tags=["memories"])


@router.post("/undo", response={**out.ERRORS, 200: out.UndoneWriteOut})
def undo_one_write(request: HttpRequest, body: UndoWriteIn) -> HttpResponse:
    """Undo a write of the same token, at most 24 hours old: pass `undo` of its answer. 409: somebody else built on it
    since, or a policy, a verification or a pin stands against it.
    """
    return answer(undone_json(undo_write(actor_of(request), body.undo)))
