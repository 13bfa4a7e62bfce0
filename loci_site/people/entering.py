"""The door: logging in, logging out, and which pages somebody begins with."""

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_GET

from access.login import login_wait_s
from loci_site.people.page import bolted

WRONG = "That name and password do not belong together. Both are case-sensitive."


class LogInForm(AuthenticationForm):
    """Name and password; says how long to wait where too much was tried."""

    error_messages = {"invalid_login": WRONG, "inactive": "This account is switched off. Ask an admin."}

    def get_invalid_login_error(self) -> Any:
        """Say what to do next."""
        wait = login_wait_s(self.request, self.cleaned_data.get("username", "")) if self.request else 0
        if not wait:
            return super().get_invalid_login_error()
        minutes = -(-wait // 60)
        said = f"Too much was tried. Try again in {minutes} minute{'s' if minutes > 1 else ''}."
        return type(super().get_invalid_login_error())(said, code="locked")


@method_decorator(bolted, name="dispatch")
class LogIn(LoginView):
    """The login for everybody; curators come from here to the admin as well."""

    template_name = "people/login.html"
    authentication_form = LogInForm
    redirect_authenticated_user = True
    next_page = "people:home"
    extra_context = {"title": "Log in"}


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
