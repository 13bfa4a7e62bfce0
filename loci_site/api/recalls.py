"""Routes for the recall log, and for feedback on what recalls returned."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from loci_site.api.auth import actor_of
from loci_site.api.responses import answer
from loci_site.api.schemas import recalls
from loci_site.api.schemas import responses as out
from memories.browse.recalls import find_recall, list_recalls, logged_recall_json, with_hits
from memories.review.feedback import feedback_json, give_feedback

router = Router(tags=["recall"])


@router.get("/recalls", response={**out.ERRORS, 200: recalls.RecallLogPage})
def list_logged_recalls(request: HttpRequest, params: Query[recalls.RecallsQuery]) -> HttpResponse:
    """List logged recalls, newest first: the caller's own, and those of groups that the caller may curate. A recall is
    logged within retrieval.access_flush_s seconds.
    """
    actor = actor_of(request)
    page = list_recalls(
        actor,
        question=params.question,
        group=params.group,
        since=params.since,
        cursor=params.cursor,
        limit=params.limit,
    )
    return answer(
        {"items": [logged_recall_json(each) for each in with_hits(actor, page.rows)], "next": page.next}
    )


@router.get("/recalls/{recall_id}", response={**out.ERRORS, 200: recalls.LoggedRecallOut})
def read_logged_recall(request: HttpRequest, recall_id: str) -> HttpResponse:
    """Read one logged recall: the question, and what it returned."""
    actor = actor_of(request)
    [recall] = with_hits(actor, [find_recall(actor, recall_id)])
    return answer(logged_recall_json(recall))


@router.post("/feedback", response={**out.ERRORS, 200: recalls.FeedbackOut})
def add_feedback(request: HttpRequest, body: recalls.FeedbackIn) -> HttpResponse:
    """Say which recalled memories were used, and which were wrong. People see it in review and on the memory's page; rank
    never depends on it. A verdict counts once for each recall and memory; a later one replaces it.
    """
    given = give_feedback(actor_of(request), used=body.used, wrong=body.wrong, recall=body.recall)
    return answer(feedback_json(given))
