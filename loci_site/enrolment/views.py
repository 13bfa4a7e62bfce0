"""`/connect/`: the client to download, the exchange of a code for a token, a token's check and end, and its captures."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from access.actor import READ, Actor, Via
from access.errors import LociError, NotAuthenticated, TooManyAttempts
from access.models import ApiToken
from access.sign_in.client_address import address_of
from access.sign_in.lockouts import count_failed_token
from access.tokens import actor_for_secret, bearer_secret, revoke_token
from access.tokens.enrolment import exchange_client_code
from loci_site.enrolment.check import check_token
from loci_site.enrolment.wheel import client_script, client_wheel
from loci_site.hooks.stats import TAKEN_BACK, Captured, list_captured
from loci_site.hooks.views import parse_body
from memories.lifecycle.verbs import forget


@require_safe
def download(request: HttpRequest, name: str) -> HttpResponse:
    """The client's file, and under any other name its script, as the line that asks looks at it. They contain no secret."""
    served = client_wheel() if name.endswith(".whl") else client_script()
    if name.endswith(".whl") and name != served.name:
        text = "No file has this name. My account, Connect your client, has the line of this version.\n"
        return HttpResponse(text, status=404, content_type="text/plain")
    return HttpResponse(served.data, content_type="application/octet-stream")


@csrf_exempt  # the code in the body is the secret
@never_cache
@require_POST
def exchange(request: HttpRequest) -> JsonResponse:
    """The token for a one-time code; wrong codes count as wrong tokens do."""
    sent = parse_body(request)
    code, machine = (sent.get("code"), sent.get("machine")) if isinstance(sent, dict) else ("", "")
    try:
        made = exchange_client_code(str(code), machine="".join(filter(str.isprintable, str(machine or ""))))
    except LociError as error:
        return _refuse(request, error)
    return JsonResponse({"token": made.secret, "scopes": made.token.scopes}, status=201)


@csrf_exempt  # browsers never send a token in a header on their own
@never_cache
@require_POST
def check(request: HttpRequest) -> JsonResponse:
    """Who the token is, and what it may; a `TokenCheck`."""
    try:
        return JsonResponse(check_token(_actor_of(request), parse_body(request)))
    except LociError as error:
        return _refuse(request, error)


@csrf_exempt  # as above
@never_cache
@require_POST
def revoke(request: HttpRequest) -> JsonResponse:
    """Revoke the token that asks."""
    try:
        actor = _actor_of(request)
        revoke_token(actor, ApiToken.objects.get(id=str(actor.token_id)))
    except LociError as error:
        return _refuse(request, error)
    return JsonResponse({})


@csrf_exempt  # as above
@never_cache
@require_POST
def captured(request: HttpRequest) -> JsonResponse:
    """What hooks captured with the person's tokens, newest first; the one that `undo` names is forgotten before."""
    try:
        actor, sent = _actor_of(request), parse_body(request)
        if undo := isinstance(sent, dict) and sent.get("undo"):
            forget(actor, str(undo), reason=TAKEN_BACK)
        found = list_captured(actor, own=True) if READ in actor.scopes else []
    except LociError as error:
        return _refuse(request, error)
    return JsonResponse({"captured": [Captured.json(row) for row in found]})


def _actor_of(request: HttpRequest) -> Actor:
    secret = bearer_secret(request.headers.get("Authorization", ""))
    return actor_for_secret(secret, via=Via.REST, origin=request.headers.get("Origin", ""))


def _refuse(request: HttpRequest, error: LociError) -> JsonResponse:
    """The error as JSON; 429 after too many wrong secrets from one address."""
    if isinstance(error, NotAuthenticated):
        error = count_failed_token(error, address=address_of(request), via=Via.REST)
    headers = {"Retry-After": str(error.wait_s)} if isinstance(error, TooManyAttempts) else {}
    return JsonResponse(error.as_dict(), status=error.status, headers=headers)
