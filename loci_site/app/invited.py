"""The page of an invitation's one-time link, where a person chooses a password and is logged in."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import PasswordResetConfirmView
from django.db import transaction
from django.http import HttpResponse
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import gettext_lazy

from access.actor import Actor, Via
from access.sign_in.sessions import SignInWay, note_login
from access.sign_in.users import log_password
from loci_site.app.page import secured

_WELCOME = gettext_lazy("Welcome! Connect your agents here; Search leads to what your team knows.")


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
