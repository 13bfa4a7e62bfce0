"""Log-in, log-out, and the start page of each kind of user."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET

from access.errors import LociError
from access.sign_in.login import LoginForm
from access.sign_in.sessions import note_login
from access.sign_in.sso.admission import sign_in
from access.sign_in.sso.proxy import proxied_visitor
from loci_site.app.page import secured

_ADMIN_CLOSED = gettext_lazy(
    "The admin is for curators. Here you can search, store, correct and flag memories."
)
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
    """The login for everyone; curators are redirected to the admin."""

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

    def get_redirect_url(self, request: HttpRequest | None = None) -> str:
        """The page that was asked for, if it is on this site; no admin page for users who may not enter the admin."""
        wanted: str = super().get_redirect_url()
        user = self.request.user
        if user.is_authenticated and not user.is_staff and wanted.startswith(reverse("admin:index")):
            messages.info(self.request, _ADMIN_CLOSED)
            return ""
        return wanted


@method_decorator(secured, name="dispatch")
class LogOut(LogoutView):
    """Ends the session, by POST only."""

    def get_success_url(self) -> str:
        """The login page, without logging in again by the proxy's header."""
        login = reverse("people:login")
        return f"{login}?{_STAY}=1" if proxied_visitor(self.request) else login


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Redirect to the admin if the user may enter it, else to the workspace."""
    if not isinstance(request.user, User):
        return redirect("people:login")
    return redirect("admin:index" if request.user.is_staff else "people:search")
