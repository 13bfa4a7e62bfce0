"""Admin pages of user accounts, for superusers only."""

from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Model, Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm

from access.admin.caller import actor_of
from access.admin.columns import column, in_brackets, in_words, join_list
from access.admin.invite import InvitationPages
from access.admin.page import WordedForm
from access.models import Membership
from access.sign_in.users import audited_fields, end_access, join_everyone, log_password, log_person

FIELD_WORDS = {
    "username": (pgettext_lazy("login", "Name"), gettext_lazy("The person logs in with it.")),
    "is_active": (
        gettext_lazy("Active"),
        gettext_lazy(
            "Without it nobody can log in as this person. Switching it off ends their sessions and revokes their tokens."
        ),
    ),
    "is_staff": (
        gettext_lazy("May enter the admin"),
        gettext_lazy("To review and curate, in the groups where their role allows it."),
    ),
    "is_superuser": (gettext_lazy("Superuser"), gettext_lazy("May do everything in every group.")),
}

admin.site.unregister(User)
admin.site.unregister(Group)


class SuperusersOnly(ModelAdmin):  # type: ignore[misc]  # unfold has no types
    """Pages for superusers only. Users are deactivated, which revokes their tokens, and never deleted."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Superusers only."""
        return bool(request.user.is_active and getattr(request.user, "is_superuser", False))

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Superusers only."""
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Superusers only."""
        return self.has_module_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Superusers only."""
        return self.has_module_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody."""
        return False


@admin.register(User)
class PersonAdmin(InvitationPages, WordedForm, UserAdmin, SuperusersOnly):  # type: ignore[type-arg, misc]  # generic in the stubs alone
    """User accounts. Rights in a group come from its member list, not from Django's permissions."""

    form = UserChangeForm
    change_password_form = AdminPasswordChangeForm
    change_form_template = "admin/auth/user/page.html"
    list_name = gettext_lazy("People")
    field_words = FIELD_WORDS
    page_titles: ClassVar[Any] = {"change": gettext_lazy("Person")}
    list_display = ("username", "email", "standing", "reach", "last_login")
    list_filter = ("is_active", "is_staff", "is_superuser")
    readonly_fields = ("last_login", "date_joined", "reach")
    fieldsets: ClassVar[Any] = (
        (None, {"fields": ("username", "first_name", "last_name", "email")}),
        (gettext_lazy("Permissions"), {"fields": ("is_active", "is_staff", "is_superuser", "reach")}),
        (gettext_lazy("Times"), {"fields": ("last_login", "date_joined")}),
    )
    filter_horizontal = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        """The users with their groups, in two queries."""
        rows: QuerySet[User] = super().get_queryset(request)
        return rows.prefetch_related(
            Prefetch("memberships", Membership.objects.select_related("group").order_by("group__slug"))
        )

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list under its own heading."""
        answer: HttpResponse = super().changelist_view(
            request, {"title": self.list_name, **(extra_context or {})}
        )
        return answer

    @column(
        gettext_lazy("access"), ordering="is_superuser", labels={"superuser": "info", "deactivated": "danger"}
    )
    def standing(self, user: User) -> str | tuple[str, str]:
        """The parts of Loci that are open to the user; a key of `labels` with its word."""
        if not user.is_active:
            return "deactivated", in_words("deactivated")
        if user.is_superuser:
            return "superuser", in_words("superuser")
        return gettext("may enter the admin") if user.is_staff else gettext("workspace only")

    @column(gettext_lazy("groups"))
    def reach(self, user: User) -> str:
        """The groups that the user may enter, with roles."""
        if user.is_superuser:
            return gettext("every group, as admin")
        roles = [
            f"{member.group.slug}{in_brackets(in_words(member.role))}" for member in user.memberships.all()
        ]
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
            before = (
                User.objects.filter(pk=id).values_list("password", flat=True).first()
                if id.isdecimal()
                else None
            )
            answer: HttpResponse = super().user_change_password(request, id, form_url)
            user = User.objects.filter(pk=id).first() if before is not None else None
            if user is not None and user.password != before:
                log_password(actor_of(request), user)
        return answer


@admin.register(Group)
class DjangoGroupAdmin(GroupAdmin, SuperusersOnly):  # type: ignore[misc]  # unfold has no types
    """Django's own permission groups, which Loci does not use; kept for other apps."""
