"""What the pages for everybody have in common: who asks, the frame, what a service refuses, and a policy without exceptions."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse_lazy

from access.actor import READ, WRITE, Actor
from access.admin.caller import actor_of
from access.errors import LociError
from access.groups import entered_groups
from access.models import Group

P = ParamSpec("P")
# Everything these pages need comes from this server's own files: no inline script or style, no other host.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def bolted(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Give the view with the content security policy on each answer; nothing of it is kept by a browser or proxy."""

    @wraps(view)
    def answering(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        response["Content-Security-Policy"] = POLICY
        response["Cache-Control"] = "no-store, private"
        return response

    return answering


def for_people(
    view: Callable[Concatenate[HttpRequest, P], HttpResponse],
) -> Callable[..., HttpResponseBase]:
    """Give the view for whoever is logged in; what a service refuses becomes a page that says so."""

    @wraps(view)
    def answering(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except LociError as refusal:
            context = {"title": refusal.message, "refusal": refusal}
            return show(request, "people/refused.html", context, status=refusal.status)

    return bolted(login_required(answering, login_url=reverse_lazy("people:login")))


def show(request: HttpRequest, template: str, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
    """Give a page inside the frame."""
    actor = actor_of(request)
    frame = {"may_store": bool(writable_groups(actor)), "user": request.user}
    return render(request, template, frame | context, status=status)


def rooms_of(actor: Actor) -> list[Group]:
    """Give the groups the actor may read, by name."""
    return [group for group in entered_groups(actor) if actor.may(READ, group.key)]


def writable_groups(actor: Actor) -> list[Group]:
    """Give the groups the actor may store in."""
    return [group for group in entered_groups(actor) if actor.may(WRITE, group.key)]
