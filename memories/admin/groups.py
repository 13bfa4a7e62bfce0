"""Admin pages of groups and their members; changes go through access.groups and access.groups.members."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy, ngettext
from unfold.admin import TabularInline

from access.actor import ADMIN, CREATE_GROUP, Actor
from access.admin.caller import actor_of
from access.admin.columns import column, field_column, in_words
from access.admin.confirm import Confirmation, confirm
from access.admin.page import LociAdmin, WordedForm, translated_labels
from access.errors import NotFound
from access.groups import GroupChange, create_group, update_group
from access.groups.members import remove_member, set_member, set_private
from access.limits.quota import use_of
from access.models import Group, Membership
from memories.lifecycle.regroup.left_behind import LeftBehind, has_moved_away, purge_left_behind


def _administers(request: HttpRequest, group: Model | None) -> bool:
    return group is None or actor_of(request).may(ADMIN, group.pk)


class _MemberInline(TabularInline):  # type: ignore[misc]  # unfold has no types
    """The members of a group, editable by its admins."""

    model = Membership
    fields = ("user", "role", "created_at")
    readonly_fields = ("created_at",)
    extra = 0
    verbose_name, verbose_name_plural = gettext_lazy("Member"), gettext_lazy("Members")
    hide_title = True

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """The form field with an aria-label for people who cannot see the column's heading."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None:
            inner = getattr(field.widget, "widget", field.widget)  # Django wraps the widget of a foreign key
            field.label = capfirst(in_words(db_field.verbose_name))
            inner.attrs["aria-label"] = field.label
        return field

    def get_formset(self, request: HttpRequest, obj: Model | None = None, **kwargs: Any) -> Any:
        """The rows' forms, with the headings of read-only columns in the reader's language."""
        return super().get_formset(request, obj, labels=translated_labels(self.model, self.fields), **kwargs)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        """The members with their users, in one query."""
        rows: QuerySet[Membership] = super().get_queryset(request)
        return rows.select_related("user", "group")

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Everybody who may enter the group sees its members."""
        return True

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return _administers(request, obj)

    has_delete_permission = has_change_permission

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Admins of the group, once it exists."""
        return obj is not None and _administers(request, obj)


FIELD_WORDS = {
    "slug": (
        gettext_lazy("Name"),
        gettext_lazy(
            "Agents use it: lower case, digits and hyphens, such as ledger. It cannot change later."
        ),
    ),
    "title": (gettext_lazy("Title"), gettext_lazy("How people read it, such as Ledger service.")),
    "instructions": (
        gettext_lazy("Instructions"),
        gettext_lazy("Agents get them at the start of each session, such as: amounts are integer cents."),
    ),
    "max_memories": (
        gettext_lazy("Most live memories"),
        gettext_lazy("0 follows the instance's limit. Only a superuser can change it."),
    ),
    "max_bytes": (
        gettext_lazy("Most bytes of text"),
        gettext_lazy("0 follows the instance's limit. Only a superuser can change it."),
    ),
    "private": (gettext_lazy("Private"), gettext_lazy("Nothing in it is ever visible in other groups.")),
}


@admin.register(Group)
class GroupAdmin(WordedForm, LociAdmin):
    """The groups that the user may enter."""

    list_name = gettext_lazy("Groups")
    add_label = gettext_lazy("New group")
    field_words = FIELD_WORDS
    page_titles: ClassVar[Any] = {"add": gettext_lazy("New group"), "change": gettext_lazy("Group")}
    list_display = ("name", "title", "waiting_writes", "seen_by", "created_by", "created_at")
    list_filter = ("policy", "private", "archived")
    search_fields = ("slug", "title")
    empty_hint = gettext_lazy(
        "An agent creates a group by storing into it with a token that may create groups; or create one here."
    )
    own_pages = {"left_behind": ("<path:object_id>/left-behind/", "left_behind_view")}
    inlines = (_MemberInline,)
    readonly_fields = ("created_by", "created_at", "updated_at", "moved_away", "held")
    fieldsets = (
        (None, {"fields": ("name", "title", "instructions")}),
        (gettext_lazy("Approval by a curator"), {"fields": ("policy", "policy_confidence", "captures")}),
        (gettext_lazy("Visibility"), {"fields": ("private", "archived", "default_scope")}),
        (gettext_lazy("Sensitive text"), {"fields": ("guard",)}),
        (gettext_lazy("Clean-up"), {"fields": ("cleanup",)}),
        (gettext_lazy("Room"), {"fields": ("held", "max_memories", "max_bytes")}),
        (gettext_lazy("Created"), {"fields": ("created_by", "created_at", "updated_at", "moved_away")}),
    )
    add_fieldsets = ((None, {"fields": ("slug", "title", "private")}),)

    name = field_column(gettext_lazy("Name"), "slug")

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """The groups that the actor may enter, archived ones included so that they can be reopened."""
        return rows if actor.all_groups else rows.filter(key__in=actor.roles)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        """The name cannot change after creation, and the limits only by superusers."""
        limits = () if actor_of(request).is_admin_of_all else ("max_memories", "max_bytes")
        return self.readonly_fields if obj is None else ("name", *self.readonly_fields, *limits)

    def get_inlines(self, request: HttpRequest, obj: Model | None) -> tuple[type[_MemberInline], ...]:
        return self.inlines if obj is not None else ()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return actor_of(request).may(CREATE_GROUP)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_module_permission(request) and _administers(request, obj)

    def save_model(
        self, request: HttpRequest, obj: Group, form: "forms.ModelForm[Group]", change: bool
    ) -> None:
        """Create or change the group through access.groups."""
        actor = actor_of(request)
        if not change:
            made = create_group(actor, obj.slug, title=obj.title, private=obj.private)
            obj.pk, obj.id = made.pk, made.id
            obj.refresh_from_db()
            return
        wanted = {name: form.cleaned_data[name] for name in form.changed_data}
        private = wanted.pop("private", None)
        update_group(actor, obj.slug, GroupChange(**wanted))
        if private is not None:
            set_private(actor, obj.slug, private=private)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        actor = actor_of(request)
        members = formset.save(commit=False)
        for removed in formset.deleted_objects:
            remove_member(actor, removed.group, user=removed.user)
        for member in members:
            set_member(actor, member.group, user=member.user, role=member.role)

    def left_behind_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show what a purge would destroy; on POST, destroy it."""
        group = self.get_object(request, object_id)
        if not isinstance(group, Group):
            raise NotFound(gettext("There is no such group."), hint=gettext("You may lack access to it."))
        would = purge_left_behind(actor_of(request), group.slug, dry_run=True)
        question = Confirmation(
            title=gettext("Purge what moved memories left in {group}?").format(group=group.slug),
            button=gettext("Purge what stayed behind"),
            back=self.url("change", group.id),
            consequences=_left_behind_lines(would),
            is_dangerous=True,
        )

        def purge(reason: str) -> str:
            done = purge_left_behind(actor_of(request), group.slug, reason=reason)
            text = gettext(
                "Purged in “{group}”: {payloads} contents of the log, {recalls} recalls, {checkpoints} checkpoints."
            )
            counts = {"payloads": done.log_payloads, "recalls": done.recalls, "checkpoints": done.checkpoints}
            return text.format(group=group.slug, **counts)

        return confirm(self, request, question, purge)

    @column(gettext_lazy("holds"))
    def held(self, group: Group) -> str:
        """What the group holds, and the share of its limits."""
        use = use_of(group)
        text = gettext("live memories: {memories}, text: {bytes}").format(
            memories=f"{use.memories:,}", bytes=filesizeformat(use.bytes)
        )
        if not (use.max_memories or use.max_bytes):
            return gettext("{held}; no limit").format(held=text)
        return gettext("{held}; {share} of its limit").format(held=text, share=f"{use.share:.0%}")

    @column(gettext_lazy("moved away"))
    def moved_away(self, group: Group) -> str:
        """Whether memories left the group, with the way to purge what stayed behind of them."""
        if not has_moved_away(group):
            return gettext("none")
        url = self.url("left_behind", group.id)
        return format_html('<a class="loci-link" href="{}">{}</a>', url, gettext("Purge what stayed behind"))

    @column(gettext_lazy("waits for a curator"), ordering="policy")
    def waiting_writes(self, group: Group) -> str:
        """The writes that wait for a curator."""
        below = gettext("below confidence {policy_confidence:g}")
        below = below.format(policy_confidence=group.policy_confidence)
        return str(_WAITING_WRITES.get(group.policy, below))

    @column(gettext_lazy("kind"), ordering="private", labels={"archived": "warning", "private": "info"})
    def seen_by(self, group: Group) -> str:
        """Whether the group is archived, private or open."""
        return "archived" if group.archived else "private" if group.private else "open"


_WAITING_WRITES = {
    "none": gettext_lazy("nothing"),
    "agents": gettext_lazy("writes by agents"),
    "all": gettext_lazy("everything"),
}


def _left_behind_lines(would: LeftBehind) -> tuple[str, ...]:
    """The consequences of a purge, in words."""
    more = would.elsewhere
    line = ngettext(
        "{count} more moved where you may not curate", "{count} more moved where you may not curate", more
    )
    others = (line.format(count=more),) if more else ()
    if not would.memories:
        return others or (gettext("no memory moved away from here: nothing would change"),)
    counts = {
        gettext("contents of log rows, which are destroyed: {count}"): would.log_payloads,
        gettext("logged recalls whose questions are destroyed: {count}"): would.recalls,
        gettext("checkpoints whose quotes are blanked: {count}"): would.checkpoints,
        gettext("other rows whose quotes are blanked or deleted: {count}"): would.others,
    }
    return (
        gettext("the moved memories stay in their new groups: {count}").format(count=would.memories),
        *(text.format(count=count) for text, count in counts.items()),
        *(gettext("the text may still be here: {place}").format(place=place) for place in would.remains),
        *others,
        gettext("backups keep the old state until they are rotated out"),
        gettext("a purge cannot be undone"),
    )
