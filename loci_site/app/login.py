"""The door: logging in, logging out, and which pages somebody begins with."""

from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_GET

from access.sign_in.form import LoginForm
from loci_site.app.page import bolted

CLOSED = "The admin's pages are for curators. Here you can search, store, correct and flag."
WRONG = "That name and password do not belong together. Both are case-sensitive."


class LogInForm(LoginForm):
    """Name and password; says how long to wait where too much was tried."""

    error_messages = {"invalid_login": WRONG, "inactive": "This account is switched off. Ask an admin."}


@method_decorator(bolted, name="dispatch")
class LogIn(LoginView):
    """The login for everybody; curators come from here to the admin as well."""

    template_name = "people/login.html"
    authentication_form = LogInForm
    redirect_authenticated_user = True
    next_page = "people:home"
    extra_context = {"title": "Log in"}

    def get_redirect_url(self, request: HttpRequest | None = None) -> str:
        """Give where somebody wanted to go, on this site; not the admin's pages for whom they are closed."""
        wanted: str = super().get_redirect_url()
        user = self.request.user
        if user.is_authenticated and not user.is_staff and wanted.startswith(reverse("admin:index")):
            messages.info(self.request, CLOSED)
            return ""
        return wanted


@method_decorator(bolted, name="dispatch")
class LogOut(LogoutView):
    """Ends the login; only a POST does."""

    next_page = "people:login"


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Lead to where somebody works: the admin for those who may enter it, else the search."""
    if not isinstance(request.user, User):
        return redirect("people:login")
    return redirect("admin:index" if request.user.is_staff else "people:search")
