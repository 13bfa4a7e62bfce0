"""The ways in: password, invitation, single sign-on and a proxy's header; and log-out."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, LogoutView, PasswordResetConfirmView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import gettext, gettext_lazy, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from access.actor import Actor, Via
from access.errors import LociError
from access.sign_in.login import LoginForm
from access.sign_in.sessions import SignInWay, note_login
from access.sign_in.sso.admission import sign_in
from access.sign_in.sso.proxy import proxied_visitor
from access.sign_in.users import log_password
from loci_site.app.page import secured

_WELCOME = gettext_lazy("Welcome! Connect your agents here; Groups leads to what your team knows.")
OFF = gettext_noop("Single sign-on is not set up here. Log in with a password.")
_STAY = "stay"  # in the address: show the page instead of logging in by the proxy's header again
_WRONG_LOGIN = gettext_lazy("Wrong name or password. Both are case-sensitive.")


class _LogInForm(LoginForm):
    """Name and password. After too many attempts its error says how long to wait."""

    error_messages = {
        "invalid_login": _WRONG_LOGIN,
        "inactive": gettext_lazy("This account is switched off. Ask an admin."),
    }


@method_decorator(secured, name="dispatch")
class LogIn(LoginView):
    """The login for everyone."""

    template_name = "people/login.html"
    authentication_form = _LogInForm
    redirect_authenticated_user = True
    next_page = "people:home"
    extra_context = {"title": gettext_lazy("Log in")}

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """The form; a person named by a trusted proxy is logged in directly, unless they have just logged out."""
        visitor = proxied_visitor(request)
        if visitor is not None and _STAY not in request.GET:
            try:
                sign_in(request, visitor)
            except LociError as refusal:
                messages.error(request, str(refusal))
            else:
                return redirect(self.get_success_url())
        answer: HttpResponse = super().get(request, *args, **kwargs)
        return answer

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        chosen, visitor = settings.LOCI.sign_in, proxied_visitor(self.request)
        ways = {
            "oidc_label": chosen.oidc_label if chosen.oidc_issuer else "",
            "proxied": visitor.name if visitor else "",
        }
        return super().get_context_data(**ways, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Log in, and note in the session when and from where."""
        answer = super().form_valid(form)
        note_login(self.request)
        return answer


@method_decorator(secured, name="dispatch")
class LogOut(LogoutView):
    """Ends the session, by POST only."""

    def get_success_url(self) -> str:
        """The login page, without logging in again by the proxy's header."""
        login = reverse("people:login")
        return f"{login}?{_STAY}=1" if proxied_visitor(self.request) else login


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    return redirect("admin:index" if request.user.is_authenticated else "people:login")


@method_decorator(secured, name="dispatch")
class AcceptInvitation(PasswordResetConfirmView):
    """Django's view, for active people only; the new password is logged."""

    template_name = "people/invited.html"
    title = gettext_lazy("Choose a password")
    success_url = reverse_lazy("people:account")
    post_reset_login = True
    post_reset_login_backend = settings.AUTHENTICATION_BACKENDS[0]

    def get_user(self, uidb64: str) -> User | None:
        """The person of the link; None if there is none or they are deactivated."""
        user: User | None = super().get_user(uidb64)
        return user if user is not None and user.is_active else None

    def form_valid(self, form: Any) -> HttpResponse:
        """Store the password, log in, and lead to the account page."""
        user = form.user
        with transaction.atomic():
            answer: HttpResponse = super().form_valid(form)
            actor = Actor(name=user.get_username(), via=Via.APP, user_id=user.pk, is_person=True)
            log_password(actor, user)
        note_login(self.request, SignInWay.INVITATION)
        messages.success(self.request, _WELCOME)
        return answer

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        """The form; 410 for a link that was used, or is too old."""
        status = 200 if context["validlink"] else 410
        answer: HttpResponse = super().render_to_response(context, status=status, **kwargs)
        return answer


def _single_sign_on(view: Callable[[HttpRequest], HttpResponse]) -> Callable[..., HttpResponseBase]:
    """A page of single sign-on; if it refuses, or nothing is set up, the login page shows the reason."""

    @secured
    @never_cache
    @require_GET
    @wraps(view)
    def answered(request: HttpRequest) -> HttpResponse:
        why = gettext(OFF)
        if settings.LOCI.sign_in.oidc_issuer:
            try:
                return view(request)
            except LociError as refusal:
                why = str(refusal)
        messages.error(request, why)
        return redirect(f"{reverse('people:login')}?{_STAY}=1")

    return answered


@_single_sign_on
def begin(request: HttpRequest) -> HttpResponse:
    from access.sign_in.sso.oidc import ToProvider  # noqa: PLC0415 - its package is installed only where it is used

    answer: HttpResponse = ToProvider.as_view()(request)
    return answer


@_single_sign_on
def finish(request: HttpRequest) -> HttpResponse:
    """Log in the visitor that the provider sent back, and redirect to the requested page."""
    from access.sign_in.sso.oidc import read_answer  # noqa: PLC0415 - as above

    visitor, wanted = read_answer(request)
    sign_in(request, visitor)
    # The login page leads on whoever is logged in, and knows who may open which page.
    return redirect(reverse("people:login") + (f"?{urlencode({'next': wanted})}" if wanted else ""))
