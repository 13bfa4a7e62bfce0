"""The page on which a person lets a program in: who asks, what it may do, and where."""

from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse_lazy
from oauth2_provider.exceptions import OAuthToolkitError
from oauth2_provider.forms import AllowForm
from oauth2_provider.models import Application
from oauth2_provider.views import AuthorizationView
from oauthlib.oauth2.rfc6749.errors import CustomOAuth2Error
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldBooleanSwitchWidget

from access.actor import Actor, Via
from access.errors import LociError
from access.groups import entered_groups
from access.models import Group
from access.tokens import actor_for_user
from loci_site.oauth.audience import audience_of
from loci_site.oauth.grants import GrantedAccess, connect, name_of
from loci_site.oauth.provider import SCOPES


class ConsentForm(AllowForm):  # type: ignore[misc]  # the toolkit has no types
    """What the person allows; hidden beside it, what the program asked for."""

    rights = forms.MultipleChoiceField(
        required=False, label="It may", widget=UnfoldAdminCheckboxSelectMultipleWidget()
    )
    everywhere = forms.BooleanField(
        required=False,
        initial=True,
        label="In every group that I may enter, later ones too",
        widget=UnfoldBooleanSwitchWidget(),
    )
    groups = forms.MultipleChoiceField(
        required=False, label="Only in these groups", widget=UnfoldAdminCheckboxSelectMultipleWidget()
    )

    def __init__(self, *args: Any, actor: Actor, audience: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.audience = audience
        self.rooms: dict[str, Group] = {group.slug: group for group in entered_groups(actor)}
        asked = str(self.data.get("scope") or self.initial.get("scope") or "").split()
        rights = [(name, said) for name, said in SCOPES.items() if name in asked and actor.may(name)]
        self.fields["rights"].choices = rights
        self.fields["rights"].initial = [name for name, _ in rights]
        self.fields["groups"].choices = [(slug, slug) for slug in self.rooms]

    def clean(self) -> dict[str, Any]:
        """Refuse what allows nothing, and what was changed in the hidden fields."""
        said: dict[str, Any] = super().clean() or self.cleaned_data
        if said.get("resource") != self.audience:
            raise forms.ValidationError("The program asks for access to something else.")
        if said.get("allow"):
            if not said.get("rights"):
                self.add_error("rights", "Leave it at least one, or refuse.")
            if not said.get("everywhere") and not said.get("groups"):
                self.add_error("groups", "Choose at least one group.")
        return said

    def allowed(self) -> GrantedAccess:
        """Give what the person has chosen."""
        said = self.cleaned_data
        groups = None if said["everywhere"] else tuple(self.rooms[slug] for slug in said["groups"])
        return GrantedAccess(frozenset(said["rights"]), groups)


class ConsentView(AuthorizationView):  # type: ignore[misc]  # the toolkit has no types
    """Asks the person each time: a program that shows up under a known name may be another one."""

    template_name = "oauth/consent.html"
    form_class = ConsentForm
    login_url = reverse_lazy("people:login")

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the page; a program that names no audience, or another one, is sent back with invalid_target."""
        # The toolkit would let the program itself say that nobody needs to be asked.
        query = request.GET.copy()
        query.pop("approval_prompt", None)
        request.GET = query  # type: ignore[assignment]
        if query.getlist("resource") != [audience_of(request)]:
            return self._wrong_audience(request)
        response: HttpResponse = super().get(request, *args, **kwargs)
        return response

    def form_valid(self, form: ConsentForm) -> HttpResponse:
        """Keep what is allowed and hand out a code; a refusal goes back to the program."""
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
        """Tell the form who decides, and about what."""
        known: dict[str, Any] = super().get_form_kwargs()
        return known | {"actor": self._actor(), "audience": audience_of(self.request)}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Give the page what it says of the program."""
        context: dict[str, Any] = admin.site.each_context(self.request) | super().get_context_data(**kwargs)
        application = context.get("application") or self._application()
        context |= {"title": "Let a program in", "is_nav_sidebar_enabled": False}
        if application is not None:
            target = self.request.GET.get("redirect_uri") or self.request.POST.get("redirect_uri", "")
            context |= {
                "program": name_of(application),
                "application": application,
                "goes_to": origin(target),
            }
        return context

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        """Show the page; its form may lead to the program's address, which the policy has to name."""
        if "error" in context:
            context = self.get_context_data(**context)
        response: HttpResponse = super().render_to_response(context, **kwargs)
        response.loci_form_targets = context.get("goes_to", "")  # type: ignore[attr-defined]
        response["Cache-Control"] = "no-store"
        return response

    def _actor(self) -> Actor:
        return actor_for_user(self.request.user, via=Via.ADMIN)

    def _application(self) -> Application | None:
        client = self.request.GET.get("client_id") or self.request.POST.get("client_id", "")
        return Application.objects.filter(client_id=client).first()

    def _wrong_audience(self, request: HttpRequest) -> HttpResponse:
        """Send the program back, once it is known that the address is its own."""
        try:
            _, asked = self.validate_authorization_request(request)
            said = f"Name this server as the resource: {audience_of(request)}"
            fault = CustomOAuth2Error(error="invalid_target", description=said, state=asked.get("state"))
            raise OAuthToolkitError(error=fault, redirect_uri=asked["redirect_uri"])
        except OAuthToolkitError as error:
            answer: HttpResponse = self.error_response(error, self._application())
            return answer


def origin(address: str) -> str:
    """Give the part of an address that says who gets the answer: scheme and host, or the scheme of an editor's own."""
    parts = urlsplit(address)
    if parts.scheme in ("http", "https"):
        return f"{parts.scheme}://{parts.netloc}"
    return f"{parts.scheme}:" if parts.scheme else ""
