"""The people who may log in; superusers alone see and change them."""

from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

admin.site.unregister(User)
admin.site.unregister(Group)


class SuperusersOnly(ModelAdmin):  # type: ignore[misc]  # unfold has no types
    """Pages for superusers. Nothing is deleted: who leaves is made inactive, and the tokens end with that."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Only superusers."""
        return bool(request.user.is_active and getattr(request.user, "is_superuser", False))

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Only superusers."""
        return self.has_module_permission(request)

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Only superusers."""
        return self.has_module_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Only superusers."""
        return self.has_module_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody."""
        return False


@admin.register(User)
class PersonAdmin(UserAdmin, SuperusersOnly):  # type: ignore[type-arg, misc]  # generic in the stubs alone
    """Who may log in. Rights in a group come from its members list, not from Django's permissions."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = (
        "username",
        "first_name",
        "last_name",
        "is_active",
        "is_staff",
        "is_superuser",
        "last_login",
    )
    list_filter = ("is_active", "is_staff", "is_superuser")
    readonly_fields = ("last_login", "date_joined")
    fieldsets: ClassVar[Any] = (
        (None, {"fields": ("username", "password", "first_name", "last_name", "email")}),
        ("What they may do", {"fields": ("is_active", "is_staff", "is_superuser")}),
        ("Times", {"fields": ("last_login", "date_joined")}),
    )
    filter_horizontal = ()


@admin.register(Group)
class DjangoGroupAdmin(GroupAdmin, SuperusersOnly):  # type: ignore[misc]  # unfold has no types
    """Django's own groups of permissions, which Loci does not use; kept for what is installed beside it."""
