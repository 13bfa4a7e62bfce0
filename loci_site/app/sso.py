"""Logging in through a provider of OpenID Connect, or by a proxy's header."""

from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from access.errors import LociError
from access.sign_in.sso.admission import sign_in
from loci_site.app.page import secured

OFF = gettext_noop("Single sign-on is not set up here. Log in with a password.")


@secured
@never_cache
@require_GET
def begin(request: HttpRequest) -> HttpResponse:
    if not settings.LOCI.sign_in.oidc_issuer:
        return refuse(request, gettext(OFF))
    from access.sign_in.sso.oidc import ToProvider  # noqa: PLC0415 - its package is installed only where it is used

    try:
        answer: HttpResponse = ToProvider.as_view()(request)
    except LociError as refusal:
        return refuse(request, str(refusal))
    return answer


@secured
@never_cache
@require_GET
def finish(request: HttpRequest) -> HttpResponse:
    """Log in the visitor that the provider sent back, and redirect to the requested page."""
    if not settings.LOCI.sign_in.oidc_issuer:
        return refuse(request, gettext(OFF))
    from access.sign_in.sso.oidc import read_answer  # noqa: PLC0415 - as above

    try:
        visitor, wanted = read_answer(request)
        sign_in(request, visitor)
    except LociError as refusal:
        return refuse(request, str(refusal))
    # The login page leads on whoever is logged in, and knows who may open which page.
    return redirect(reverse("people:login") + (f"?{urlencode({'next': wanted})}" if wanted else ""))


def refuse(request: HttpRequest, why: str) -> HttpResponse:
    """Redirect to the login page, which shows the reason."""
    messages.error(request, why)
    return redirect(reverse("people:login") + "?stay=1")
