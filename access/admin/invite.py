"""Admin pages that invite people, one or many, and that end an account."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext, gettext_lazy
from unfold.admin import ModelAdmin
from unfold.widgets import (
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.form_errors import show_error
from access.errors import LociError
from access.groups import entered_groups
from access.models import Role
from access.sign_in.invitations import Invitation, Invited, invite, invite_many, read_invitations, renew_link
from access.sign_in.leaving import deactivate, what_ends
from access.sign_in.users import find_everyone

ROLES = [("", gettext_lazy("Not a member")), *((role.value, role.label) for role in Role)]
LINK, PASSWORD = "link", "password"
LIST = "admin:auth_user_changelist"
SAMPLE = "person,groups,curate\nann@example.org,ledger=curator garden=viewer,yes\nben,ledger=contributor,no"


class PeopleOptions:
    """Django's options of users, under the word that the breadcrumbs show for their list."""

    def __init__(self, options: Any) -> None:
        self._options = options
        self.verbose_name_plural = gettext("People")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._options, name)


class InviteForm(forms.Form):
    """One person with groups and roles."""

    person = forms.CharField(
        label=gettext_lazy("Name or e-mail"),
        max_length=150,
        widget=UnfoldAdminTextInputWidget(attrs={"autofocus": True, "autocomplete": "off"}),
        help_text=gettext_lazy("Of ann@example.org, the login name is ann."),
    )
    may_curate = forms.BooleanField(
        label=gettext_lazy("May enter the admin, to review and curate"),
        required=False,
        widget=UnfoldBooleanSwitchWidget(),
    )
    how = forms.ChoiceField(
        label=gettext_lazy("First login with"),
        initial=LINK,
        choices=[
            (LINK, gettext_lazy("a one-time link, where they choose a password; it works for a week")),
            (PASSWORD, gettext_lazy("a made-up password")),
        ],
        widget=UnfoldAdminRadioSelectWidget(),
    )

    def __init__(self, actor: Actor, data: Any = None) -> None:
        super().__init__(data)
        self.slugs = [group.slug for group in entered_groups(actor)]
        everyone = find_everyone()
        for slug in self.slugs:
            is_everyone = everyone is not None and slug == everyone.slug
            self.fields[f"role-{slug}"] = forms.ChoiceField(
                label=gettext("Role in {slug}").format(slug=slug),
                choices=ROLES[1:] if is_everyone else ROLES,
                initial=Role.CONTRIBUTOR if is_everyone else "",
                required=False,
                widget=UnfoldAdminSelectWidget(),
                help_text=gettext("Everybody who is invited joins this group.") if is_everyone else "",
            )
        self.order_fields(["person", *(f"role-{slug}" for slug in self.slugs), "may_curate", "how"])

    def invite(self, actor: Actor) -> Invited:
        """Create the person."""
        values = self.cleaned_data
        roles = {slug: values[f"role-{slug}"] for slug in self.slugs if values[f"role-{slug}"]}
        invitation = Invitation(values["person"], roles, values["may_curate"])
        return invite(actor, invitation, by_link=values["how"] == LINK)


class InviteManyForm(forms.Form):
    """Many people as CSV."""

    csv = forms.CharField(
        label=gettext_lazy("People, one per line"),
        max_length=200_000,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 10, "placeholder": SAMPLE, "spellcheck": "false"}),
        help_text=gettext_lazy(
            "CSV with the columns person (name or e-mail), groups (GROUP=ROLE, separated by spaces) and"
            " curate (yes or no). All are invited, or nobody."
        ),
    )


class LeaveForm(forms.Form):
    """Who takes over."""

    successor = forms.ModelChoiceField(
        User.objects.none(),
        label=gettext_lazy("Successor"),
        required=False,
        empty_label=gettext_lazy("Nobody"),
        widget=UnfoldAdminSelectWidget(),
        help_text=gettext_lazy("Becomes admin of the groups that have no other admin."),
    )

    def __init__(self, user: User, data: Any = None) -> None:
        super().__init__(data)
        others = User.objects.filter(is_active=True).exclude(pk=user.pk).order_by("username")
        self.fields["successor"].queryset = others  # type: ignore[attr-defined]


class InvitationPages(ModelAdmin):  # type: ignore[misc]  # unfold has no types
    """The pages of PersonAdmin that are not Django's."""

    def get_urls(self) -> list[URLPattern]:
        """Django's URLs and our pages."""
        view = self.admin_site.admin_view
        own = [
            path("invite-many/", view(self.invite_many_view), name="auth_user_invite_many"),
            path("<int:id>/link/", view(self.link_view), name="auth_user_link"),
            path("<int:id>/leave/", view(self.leave_view), name="auth_user_leave"),
        ]
        return own + list(super().get_urls())

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """The form for one person; then the link or the password, shown once."""
        self.check_permitted(request)
        actor = actor_of(request)
        form = InviteForm(actor, request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            try:
                return self.show_invited(request, [form.invite(actor)])
            except LociError as error:
                show_error(form, error)
        more = {"url": reverse("admin:auth_user_invite_many"), "label": gettext("Invite many at once (CSV)")}
        return self.show_form(
            request, form, title=gettext("Invite a person"), button=gettext("Invite"), more=more
        )

    def invite_many_view(self, request: HttpRequest) -> HttpResponse:
        """The form for many; then a link for each."""
        self.check_permitted(request)
        form = InviteManyForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            try:
                people = read_invitations(form.cleaned_data["csv"])
                return self.show_invited(request, invite_many(actor_of(request), people))
            except LociError as error:
                show_error(form, error)
        return self.show_form(
            request, form, title=gettext("Invite many people"), button=gettext("Invite them all")
        )

    def link_view(self, request: HttpRequest, id: int) -> HttpResponse:  # noqa: A002 - Django's name
        """A new one-time link, shown once; by POST only."""
        user = self.person_or_404(request, id)
        if request.method != "POST":
            return HttpResponseRedirect(reverse("admin:auth_user_change", args=[user.pk]))
        return self.show_invited(request, [Invited(user, link=renew_link(actor_of(request), user))])

    def leave_view(self, request: HttpRequest, id: int) -> HttpResponse:  # noqa: A002 - Django's name
        """What ends, who takes over; then the person is deactivated."""
        user = self.person_or_404(request, id)
        form = LeaveForm(user, request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            try:
                deactivate(actor_of(request), user, successor=form.cleaned_data["successor"])
            except LociError as error:
                show_error(form, error)
            else:
                messages.success(
                    request,
                    gettext("{user} is deactivated. Sessions have ended and tokens are revoked.").format(
                        user=user
                    ),
                )
                return HttpResponseRedirect(reverse(LIST))
        context = {"person": user, "leaving": what_ends(user), "form": form}
        return self.show(
            request, "admin/auth/user/leave.html", gettext("Deactivate {user}?").format(user=user), context
        )

    def show_invited(self, request: HttpRequest, people: list[Invited]) -> HttpResponse:
        """The links and passwords, which no other page shows."""
        title = (
            gettext("{user} is invited").format(user=people[0].user)
            if len(people) == 1
            else gettext("{people} people are invited").format(people=len(people))
        )
        answer = self.show(request, "admin/auth/user/invited.html", title, {"people": people})
        answer["Cache-Control"] = "no-store"
        return answer

    def show_form(
        self, request: HttpRequest, form: forms.Form, *, title: str, button: str, more: Any = None
    ) -> HttpResponse:
        """A form with its button, and a link to another page if there is one."""
        context = {"form": form, "button": button, "back": reverse(LIST), "more": more}
        return self.show(request, "admin/loci/form.html", title, context)

    def show(self, request: HttpRequest, template: str, title: str, context: dict[str, Any]) -> HttpResponse:
        """A page inside the site's frame."""
        opts = PeopleOptions(self.opts)
        frame = {**self.admin_site.each_context(request), "opts": opts, "title": title}
        return TemplateResponse(request, template, frame | {"back": reverse(LIST)} | context)

    def check_permitted(self, request: HttpRequest) -> None:
        """Raise PermissionDenied for anybody but superusers."""
        if not self.has_add_permission(request):
            raise PermissionDenied(gettext("Only superusers can invite people."))

    def person_or_404(self, request: HttpRequest, pk: int) -> User:
        """The person, for superusers."""
        self.check_permitted(request)
        user = User.objects.filter(pk=pk).first()
        if user is None:
            raise Http404
        return user
