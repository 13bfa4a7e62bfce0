"""The consent page: which program requests access, what it may do, and in which groups."""

import re
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse_lazy
from django.utils.translation import gettext, gettext_lazy
from oauth2_provider.exceptions import OAuthToolkitError
from oauth2_provider.forms import AllowForm
from oauth2_provider.models import Application
from oauth2_provider.views import AuthorizationView
from oauthlib.oauth2.rfc6749.errors import (
    CustomOAuth2Error,
    InvalidRequestError,
    MismatchingRedirectURIError,
)
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldBooleanSwitchWidget

from access.actor import Actor, Via
from access.admin.columns import in_words
from access.errors import LociError
from access.groups import entered_groups
from access.models import Group
from access.tokens import actor_for_user
from loci_site.oauth.endpoints import is_plain_host
from loci_site.oauth.grants import GrantedAccess, audience_of, connect, name_of
from loci_site.oauth.provider import OAUTH_SCOPES

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")


class _ConsentForm(AllowForm):  # type: ignore[misc]  # the toolkit has no types
    """What the person allows, with the program's request in hidden fields."""

    rights = forms.MultipleChoiceField(
        required=False, label=gettext_lazy("It may"), widget=UnfoldAdminCheckboxSelectMultipleWidget()
    )
    groups = forms.MultipleChoiceField(
        required=False,
        label=gettext_lazy("In these groups"),
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
    )
    everywhere = forms.BooleanField(
        required=False,
        label=gettext_lazy("In every group that I may enter, including future ones"),
        widget=UnfoldBooleanSwitchWidget(),
    )

    def __init__(self, *args: Any, actor: Actor, audience: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.audience = audience
        self.groups_by_slug: dict[str, Group] = {group.slug: group for group in entered_groups(actor)}
        requested = str(self.data.get("scope") or self.initial.get("scope") or "").split()
        rights = [
            (name, in_words(label))
            for name, label in OAUTH_SCOPES.items()
            if name in requested and actor.may(name)
        ]
        self.fields["rights"].choices = rights
        self.fields["rights"].initial = [name for name, _ in rights]
        self.fields["groups"].choices = [(slug, slug) for slug in self.groups_by_slug]

    def clean(self) -> dict[str, Any]:
        """Refuse a form that allows nothing, or whose hidden fields were changed."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if data.get("resource") != self.audience:
            raise forms.ValidationError(gettext("The program requests access to a different server."))
        if error := _find_challenge_error(data):
            raise forms.ValidationError(error)
        if data.get("allow"):
            if not data.get("rights"):
                self.add_error("rights", gettext("Choose at least one, or refuse."))
            if not data.get("everywhere") and not data.get("groups"):
                field = "groups" if self.groups_by_slug else "everywhere"
                self.add_error(field, gettext("Choose at least one group, or every group."))
        return data

    def allowed(self) -> GrantedAccess:
        data = self.cleaned_data
        groups = None if data["everywhere"] else tuple(self.groups_by_slug[slug] for slug in data["groups"])
        return GrantedAccess(frozenset(data["rights"]), groups)


class ConsentView(AuthorizationView):  # type: ignore[misc]  # the toolkit has no types
    """Asks the person every time: a program with a known name may be a different one."""

    template_name = "oauth/consent.html"
    form_class = _ConsentForm
    login_url = reverse_lazy("people:login")

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the page; a request without this server as its audience goes back with invalid_target."""
        # With this parameter, the toolkit would let the program skip the consent page.
        query = request.GET.copy()
        query.pop("approval_prompt", None)
        request.GET = query  # type: ignore[assignment]
        if query.getlist("resource") != [audience_of(request)]:
            return self._wrong_audience(request)
        response: HttpResponse = super().get(request, *args, **kwargs)
        return response

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Take the person's decision; a form whose program or redirect address was changed is refused."""
        if self._redirect_address() is None:
            wrong = MismatchingRedirectURIError(
                description=gettext("The address for the answer is not the program's own.")
            )
            refused: HttpResponse = self.error_response(OAuthToolkitError(error=wrong), None)
            return refused
        response: HttpResponse = super().post(request, *args, **kwargs)
        return response

    def validate_authorization_request(self, request: HttpRequest) -> tuple[list[str], dict[str, Any]]:
        """The scopes and credentials of a valid request; PKCE must be S256 before the person is asked."""
        scopes, credentials = super().validate_authorization_request(request)
        if error := _find_challenge_error(credentials):
            wrong = InvalidRequestError(description=error, state=credentials.get("state"))
            raise OAuthToolkitError(error=wrong, redirect_uri=credentials["redirect_uri"])
        return scopes, credentials

    def form_valid(self, form: _ConsentForm) -> HttpResponse:
        """Store the consent and send the program a code, or the person's refusal."""
        if not form.cleaned_data["allow"]:
            refused: HttpResponse = super().form_valid(form)
            return refused
        application = Application.objects.get(client_id=form.cleaned_data["client_id"])
        allowed = form.allowed()
        form.cleaned_data["scope"] = " ".join(sorted(allowed.scopes))
        try:
            with transaction.atomic():
                connect(self._actor(), self.request.user, application, allowed)
                answer: HttpResponse = super().form_valid(form)
        except LociError as refusal:
            form.add_error(None, str(refusal))
            return self.form_invalid(form)  # type: ignore[no-any-return]
        return answer

    def get_form_kwargs(self) -> dict[str, Any]:
        """The form's arguments with the person who decides and the audience."""
        arguments: dict[str, Any] = super().get_form_kwargs()
        return arguments | {"actor": self._actor(), "audience": audience_of(self.request)}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """The page's context with the program's name and the address that receives the answer."""
        context: dict[str, Any] = admin.site.each_context(self.request) | super().get_context_data(**kwargs)
        application = context.get("application") or self._application()
        context |= {"title": gettext("Allow a program"), "is_nav_sidebar_enabled": False}
        if application is not None:
            context |= {
                "program": name_of(application),
                "application": application,
                "goes_to": origin(self._redirect_address() or ""),
            }
        return context

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        """Render the page; the form may redirect to the program's address, so the content policy must name it."""
        if "error" in context:
            context = self.get_context_data(**context)
        response: HttpResponse = super().render_to_response(context, **kwargs)
        response.loci_form_targets = context.get("goes_to", "")  # type: ignore[attr-defined]
        response["Cache-Control"] = "no-store"
        return response

    def _actor(self) -> Actor:
        return actor_for_user(self.request.user, via=Via.APP)

    def _application(self) -> Application | None:
        return Application.objects.filter(client_id=self._sent("client_id")).first()

    def _redirect_address(self) -> str | None:
        """The address that receives the answer, if it is the program's own."""
        application, address = self._application(), self._sent("redirect_uri")
        try:
            is_own = application is not None and application.redirect_uri_allowed(address)
        except ValueError:  # an address that cannot be parsed
            is_own = False
        return address if is_own else None

    def _sent(self, name: str) -> str:
        fields = self.request.POST if self.request.method == "POST" else self.request.GET
        return str(fields.get(name, ""))

    def _wrong_audience(self, request: HttpRequest) -> HttpResponse:
        """Send the program back with invalid_target, after a check that the redirect address is its own."""
        try:
            _, query = self.validate_authorization_request(request)
            hint = f"Name this server as the resource: {audience_of(request)}"
            wrong = CustomOAuth2Error(error="invalid_target", description=hint, state=query.get("state"))
            raise OAuthToolkitError(error=wrong, redirect_uri=query["redirect_uri"])
        except OAuthToolkitError as error:
            response: HttpResponse = self.error_response(error, self._application())
            return response


def _find_challenge_error(credentials: dict[str, Any]) -> str:
    """What is wrong with a request's PKCE; empty if nothing."""
    if credentials.get("code_challenge_method") != "S256":
        return "code_challenge_method must be S256."
    if not _CHALLENGE.fullmatch(credentials.get("code_challenge") or ""):
        return "code_challenge must be a SHA-256 in base64url without padding: 43 characters."
    return ""


def origin(address: str) -> str:
    """The part of an address that identifies its receiver, safe in a header: scheme and host, or an editor's own scheme."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https"):
        return f"{parts.scheme}:" if parts.scheme else ""
    return f"{parts.scheme}://{parts.netloc}" if is_plain_host(parts.netloc) else ""
