"""Admin pages of user accounts, for superusers only."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model, Prefetch, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm
from unfold.widgets import (
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.columns import column, in_brackets, in_words, join_list
from access.admin.form_errors import try_form
from access.admin.page import NamedList, Secret, render_in_site, render_secrets
from access.admin.searched_select import SearchedSelect
from access.groups import entered_groups
from access.models import Membership, Role
from access.sign_in.invitations import (
    Invitation,
    Invited,
    deactivate,
    invite,
    invite_many,
    read_invitations,
    renew_link,
    what_ends,
)
from access.sign_in.users import (
    audited_fields,
    end_access,
    find_everyone,
    join_everyone,
    log_password,
    log_person,
)

_ROLES = [("", gettext_lazy("Not a member")), *((role.value, role.label) for role in Role)]
_LINK, _PASSWORD = "link", "password"
_LIST = "admin:auth_user_changelist"
_SAMPLE = "person,groups\nann@example.org,ledger=curator garden=viewer\nben,ledger=contributor"


class InviteForm(forms.Form):
    """One person with groups and roles."""

    person = forms.CharField(
        label=gettext_lazy("Name or e-mail"),
        max_length=150,
        widget=UnfoldAdminTextInputWidget(attrs={"autofocus": True, "autocomplete": "off"}),
        help_text=gettext_lazy("Of ann@example.org, the login name is ann."),
    )
    how = forms.ChoiceField(
        label=gettext_lazy("First login with"),
        initial=_LINK,
        choices=[
            (_LINK, gettext_lazy("a one-time link, where they choose a password; it works for a week")),
            (_PASSWORD, gettext_lazy("a made-up password")),
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
                choices=_ROLES[1:] if is_everyone else _ROLES,
                initial=Role.CONTRIBUTOR if is_everyone else "",
                required=False,
                widget=UnfoldAdminSelectWidget(),
                help_text=gettext("Everyone who is invited joins this group.") if is_everyone else "",
            )
        self.order_fields(["person", *(f"role-{slug}" for slug in self.slugs), "how"])

    def invite(self, actor: Actor) -> Invited:
        values = self.cleaned_data
        roles = {slug: values[f"role-{slug}"] for slug in self.slugs if values[f"role-{slug}"]}
        return invite(actor, Invitation(values["person"], roles), by_link=values["how"] == _LINK)


class _InviteManyForm(forms.Form):
    """Many people as CSV."""

    csv = forms.CharField(
        label=gettext_lazy("People, one per line"),
        max_length=200_000,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 10, "placeholder": _SAMPLE, "spellcheck": "false"}),
        help_text=gettext_lazy(
            "CSV with the columns person (name or e-mail) and groups (GROUP=ROLE, separated by spaces)."
            " Either all are invited or none."
        ),
    )


class _LeaveForm(forms.Form):
    """Who takes over."""

    successor = forms.ModelChoiceField(
        User.objects.none(),
        label=gettext_lazy("Successor"),
        required=False,
        empty_label=gettext_lazy("No one"),
        to_field_name="username",
        widget=SearchedSelect(),
        help_text=gettext_lazy("Becomes admin of the groups that have no other admin."),
    )

    def __init__(self, user: User, data: Any = None) -> None:
        super().__init__(data)
        others = User.objects.filter(is_active=True).exclude(pk=user.pk).order_by("username")
        self.fields["successor"].queryset = others  # type: ignore[attr-defined]


class _InvitationPages(ModelAdmin):  # type: ignore[misc]  # unfold has no types
    """The pages of PersonAdmin that are not Django's."""

    own_pages: ClassVar[Any] = {
        "invite_many": ("invite-many/", "invite_many_view"),
        "link": ("<int:id>/link/", "link_view"),
        "leave": ("<int:id>/leave/", "leave_view"),
    }

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """The form for one person; then the link or the password, shown once."""
        self.check_permitted(request)
        actor = actor_of(request)
        form = InviteForm(actor, request.POST if request.method == "POST" else None)
        more = {"url": reverse("admin:auth_user_invite_many"), "label": gettext("Invite many at once (CSV)")}
        answer = try_form(form, lambda: self.show_invited(request, [form.invite(actor)]))
        context = {"form": form, "button": gettext("Invite"), "more": more}
        return answer or self.show(request, "admin/loci/form.html", gettext("Invite a person"), context)

    def invite_many_view(self, request: HttpRequest) -> HttpResponse:
        """The form for many; then a link for each."""
        self.check_permitted(request)
        form = _InviteManyForm(request.POST if request.method == "POST" else None)

        def invite_all() -> HttpResponse:
            people = read_invitations(form.cleaned_data["csv"])
            return self.show_invited(request, invite_many(actor_of(request), people))

        title, context = gettext("Invite many people"), {"form": form, "button": gettext("Invite them all")}
        return try_form(form, invite_all) or self.show(request, "admin/loci/form.html", title, context)

    def link_view(self, request: HttpRequest, id: int) -> HttpResponse:  # noqa: A002 - Django's name
        """A new one-time link, shown once; by POST only."""
        user = self.person_or_404(request, id)
        if request.method != "POST":
            return HttpResponseRedirect(reverse("admin:auth_user_change", args=[user.pk]))
        return self.show_invited(request, [Invited(user, link=renew_link(actor_of(request), user))])

    def leave_view(self, request: HttpRequest, id: int) -> HttpResponse:  # noqa: A002 - Django's name
        """What ends, who takes over; then the person is deactivated."""
        user = self.person_or_404(request, id)
        form = _LeaveForm(user, request.POST if request.method == "POST" else None)

        def leave() -> HttpResponse:
            deactivate(actor_of(request), user, successor=form.cleaned_data["successor"])
            line = gettext("{user} is deactivated. Sessions have ended and tokens are revoked.")
            messages.success(request, line.format(user=user))
            return HttpResponseRedirect(reverse(_LIST))

        if (answer := try_form(form, leave)) is not None:
            return answer
        title = gettext("Deactivate {user}?").format(user=user)
        context = {"person": user, "leaving": what_ends(user), "form": form}
        return self.show(request, "admin/auth/user/leave.html", title, context)

    def show_invited(self, request: HttpRequest, people: list[Invited]) -> HttpResponse:
        """The links and passwords, which no other page shows."""
        title = gettext("{people} people are invited").format(people=len(people))
        if len(people) == 1:
            title = gettext("{user} is invited").format(user=people[0].user)
        of_login = gettext("The password for the login name {username}. They can change it under My account.")
        secrets = []
        for each in people:
            name = each.user.get_username()
            below = "" if each.link else of_login.format(username=name)
            secrets.append(Secret(name, each.link or each.password, each.user.email, below))
        note = gettext(
            "Send each person theirs now. It is not shown again. A link works once, for a week; a new one is made on"
            " the person's page."
        )
        more = {"url": reverse("admin:auth_user_add"), "label": gettext("Invite another")}
        return render_secrets(
            request, secrets, {"title": title, "note": note, "more": more, "back": reverse(_LIST)}
        )

    def show(self, request: HttpRequest, template: str, title: str, context: dict[str, Any]) -> HttpResponse:
        return render_in_site(request, template, {"title": title, "back": reverse(_LIST)} | context)

    def check_permitted(self, request: HttpRequest) -> None:
        """Raise PermissionDenied for anybody but superusers."""
        if not self.has_add_permission(request):
            raise PermissionDenied(gettext("Only superusers can invite people."))

    def person_or_404(self, request: HttpRequest, pk: int) -> User:
        self.check_permitted(request)
        user = User.objects.filter(pk=pk).first()
        if user is None:
            raise Http404
        return user


_FIELD_WORDS = {
    "username": (pgettext_lazy("login", "Name"), gettext_lazy("The person logs in with it.")),
    "is_active": (
        gettext_lazy("Active"),
        gettext_lazy(
            "Without it this person cannot log in. Switching it off ends their sessions and revokes their tokens."
        ),
    ),
    "is_superuser": (gettext_lazy("Superuser"), gettext_lazy("May do everything in every group.")),
}

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class PersonAdmin(_InvitationPages, NamedList, UserAdmin):  # type: ignore[type-arg]  # generic in the stubs alone
    """User accounts, for superusers. They are deactivated, which revokes their tokens, and never deleted.

    Rights in a group come from its member list, not from Django's permissions.
    """

    form = UserChangeForm
    change_password_form = AdminPasswordChangeForm
    change_form_template = "admin/auth/user/page.html"
    list_name = gettext_lazy("People")
    compressed_fields = False  # labels on top
    add_label = gettext_lazy("Invite")
    list_display = ("username", "email", "standing", "reach", "last_login")
    list_filter = ("is_active", "is_superuser")
    readonly_fields = ("last_login", "date_joined", "reach")
    fieldsets: ClassVar[Any] = (
        (None, {"fields": ("username", "first_name", "last_name", "email")}),
        (gettext_lazy("Permissions"), {"fields": ("is_active", "is_superuser", "reach")}),
        (gettext_lazy("Times"), {"fields": ("last_login", "date_joined")}),
    )
    filter_horizontal = ()

    def has_module_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(request.user.is_active and getattr(request.user, "is_superuser", False))

    has_view_permission = has_add_permission = has_change_permission = has_module_permission

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Django's form field, with a line that says what it is for."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None and db_field.name in _FIELD_WORDS:
            field.label, field.help_text = _FIELD_WORDS[db_field.name]
        return field

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        answer: HttpResponse = super().change_view(request, object_id, form_url, {"title": gettext("Person")})
        return answer

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        """The users with their groups, in two queries."""
        rows: QuerySet[User] = super().get_queryset(request)
        members = Membership.objects.select_related("group").order_by("group__slug")
        return rows.prefetch_related(Prefetch("memberships", members))

    @column(
        gettext_lazy("access"), ordering="is_superuser", labels={"superuser": "info", "deactivated": "danger"}
    )
    def standing(self, user: User) -> str | tuple[str, str]:
        """What the user's rights come from; a key of `labels` with its word."""
        if not user.is_active:
            return "deactivated", in_words("deactivated")
        return ("superuser", in_words("superuser")) if user.is_superuser else gettext("by roles in groups")

    @column(gettext_lazy("groups"))
    def reach(self, user: User) -> str:
        """The groups that the user may enter, with roles."""
        if user.is_superuser:
            return gettext("every group, as admin")
        roles = (f"{each.group.slug}{in_brackets(in_words(each.role))}" for each in user.memberships.all())
        return join_list(roles) or gettext("no group")

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Save the user and log the differences; Django's view is one transaction."""
        before = audited_fields(User.objects.get(pk=obj.pk)) if change else None
        super().save_model(request, obj, form, change)
        log_person(actor_of(request), obj, before=before)
        if before is not None and before["is_active"] and not obj.is_active:
            end_access(actor_of(request), obj)
        if not change:
            join_everyone(actor_of(request), obj)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:  # noqa: A002 - Django's name
        """Django's view; a new password is logged."""
        with transaction.atomic():
            known = User.objects.filter(pk=id) if id.isdecimal() else User.objects.none()
            before = known.values_list("password", flat=True).first()
            answer: HttpResponse = super().user_change_password(request, id, form_url)
            user = known.first()
            if user is not None and user.password != before:
                log_password(actor_of(request), user)
        return answer
