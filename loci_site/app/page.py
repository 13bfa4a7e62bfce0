"""What the pages of one's own account share: login, frame, refusals as pages; and a content security policy for the ways in."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.contrib import admin
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse, reverse_lazy
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from access.actor import Via
from access.admin.page import render_in_site
from access.errors import LociError, NotFound

get_or_post = require_http_methods(["GET", "POST"])
_SITE: Any = admin.site  # LociAdminSite, whose module imports this one through the login
P = ParamSpec("P")
# All assets are this server's own files: no inline script or style, no other host.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def secured(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Add the content security policy to each response, and keep it out of caches."""

    @wraps(view)
    def with_headers(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        response["Content-Security-Policy"] = POLICY
        response["Cache-Control"] = "no-store, private"
        return response

    return with_headers


def framed_page(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """Require a login, render a service's refusal in the site's frame, and keep the response out of caches."""

    @wraps(view)
    def with_refusals(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        request.loci_via = Via.APP  # type: ignore[attr-defined]  # read by actor_of()
        try:
            response = view(request, *args, **kwargs)
        except LociError as refusal:
            if refusal.field == "id":  # of the address: its hint is for agents
                refusal = NotFound(gettext("Not found, or you don't have access."))
            response = _SITE.render_refusal(request, refusal.status, refusal.message, hint=refusal.hint)
        except Http404:
            response = _SITE.render_refusal(request, 404, gettext("Not found, or you don't have access."))
        response["Cache-Control"] = "no-store, private"
        return response

    return login_required(with_refusals, login_url=reverse_lazy("people:login"))


def render_form(request: HttpRequest, form: BaseForm, *, title: str, button: str) -> HttpResponse:
    """The form's page; status 422 if the form has errors. *Cancel* leads to the account."""
    context = {"title": title, "form": form, "button": button, "back": reverse("people:account")}
    return render_in_site(request, "admin/loci/form.html", context, status=422 if form.errors else 200)


def own_user(request: HttpRequest) -> User:
    """The logged-in user, read anew: a session may be older than a change of the account."""
    return User.objects.get(pk=request.user.pk)  # type: ignore[misc]  # the page requires a login
