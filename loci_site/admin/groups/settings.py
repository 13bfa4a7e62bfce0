"""A group's settings, for its admins: members, rules, the tokens that reach it, and what moved memories left behind."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext, gettext_lazy, ngettext
from unfold.overrides import FORMFIELD_OVERRIDES
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from access.actor import Actor
from access.admin.columns import in_words
from access.admin.confirm import Confirmation, ReasonForm
from access.admin.form_errors import try_form
from access.admin.page import render_in_site
from access.groups import GroupChange, update_group
from access.groups.members import remove_member, set_member, set_private
from access.limits.quota import use_of
from access.models import ApiToken, Group, Membership, Role, ScopeRule
from loci_site.admin.groups.tabs import group_context, render_tab, tab_url
from memories.lifecycle.regroup.left_behind import LeftBehind, has_moved_away, purge_left_behind

_OFFERED_NAMES: Final = 200  # accounts that the field for a new member suggests
_TOKENS: Final = 100
_LIMITS: Final = ("max_memories", "max_bytes")
_FOLLOWS = gettext_lazy("0 follows the instance's limit. Only a superuser can change it.")
# Label and help of a field, where the model's say too little.
_FIELD_WORDS: Final = {
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
    "policy": (gettext_lazy("Writes that wait"), gettext_lazy("They count once a curator approves them.")),
    "policy_confidence": (
        gettext_lazy("Confidence below which writes wait"),
        gettext_lazy("From 0 to 1; only for the rule “below”."),
    ),
    "captures": (
        gettext_lazy("What hooks capture"),
        gettext_lazy("Texts that a hook took from a person's words."),
    ),
    "default_scope": (
        gettext_lazy("Who sees a new memory"),
        gettext_lazy("If its author does not say."),
    ),
    "guard": (
        gettext_lazy("Rules for sensitive text"),
        gettext_lazy(
            "Such as personal=mask or word=TEXT, separated with commas; empty follows the instance's rules."
        ),
    ),
    "cleanup": (
        gettext_lazy("Unused memories"),
        gettext_lazy("What clean-up does with those of very low confidence."),
    ),
    "archived": (gettext_lazy("Archived"), gettext_lazy("It stays readable and takes no new memories.")),
    "private": (gettext_lazy("Private"), gettext_lazy("Nothing in it is ever visible in other groups.")),
    "max_memories": (gettext_lazy("Most live memories"), _FOLLOWS),
    "max_bytes": (gettext_lazy("Most bytes of text"), _FOLLOWS),
}
_SECTIONS: Final = (
    (gettext_lazy("The group"), ("title", "instructions")),
    (gettext_lazy("Approval by a curator"), ("policy", "policy_confidence", "captures")),
    (gettext_lazy("Visibility"), ("private", "archived", "default_scope")),
    (gettext_lazy("Sensitive text and clean-up"), ("guard", "cleanup")),
    (gettext_lazy("Room"), _LIMITS),
)


def as_themed(db_field: "models.Field[Any, Any]", **kwargs: Any) -> forms.Field | None:
    """The form field of a model's, with the theme's widget and Loci's words."""
    themed = next(FORMFIELD_OVERRIDES[kind] for kind in type(db_field).mro() if kind in FORMFIELD_OVERRIDES)
    made = db_field.formfield(
        **({"widget": UnfoldAdminSelectWidget} if db_field.choices else themed), **kwargs
    )
    if made is not None:
        label, made.help_text = _FIELD_WORDS.get(db_field.name, (None, made.help_text))
        made.label = label or in_words(str(made.label))
    return made


class _RulesForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """The rules of a group; the limits only for superusers."""

    class Meta:
        model = Group
        fields: ClassVar[Any] = [name for _, names in _SECTIONS for name in names]
        formfield_callback = as_themed

    def __init__(self, actor: Actor, group: Group, data: Any = None) -> None:
        # An own copy: validation writes the new values into it.
        super().__init__(data, instance=Group.objects.get(pk=group.pk))
        unset = ("", gettext("as the instance says"))
        self.fields["default_scope"].choices = [unset, *ScopeRule.choices]  # type: ignore[attr-defined]
        if not actor.is_admin_of_all:
            for name in _LIMITS:
                del self.fields[name]

    @property
    def sections(self) -> list[tuple[Any, list[forms.BoundField]]]:
        """The fields under their headings."""
        shown = [(head, [self[name] for name in names if name in self.fields]) for head, names in _SECTIONS]
        return [(head, fields) for head, fields in shown if fields]

    def clean_instructions(self) -> str:
        """As typed; a browser sends line ends as CR LF."""
        return str(self.cleaned_data["instructions"]).replace("\r\n", "\n")

    def save_for(self, actor: Actor, group: Group) -> None:
        """Save what was changed, all or nothing."""
        wanted = {name: self.cleaned_data[name] for name in self.changed_data}
        private = wanted.pop("private", None)
        with transaction.atomic():
            update_group(actor, group.slug, GroupChange(**wanted))
            if private is not None:
                set_private(actor, group.slug, private=private)


class _MemberForm(forms.Form):
    """A person, by name or mail address, and the role."""

    user = forms.CharField(
        label=gettext_lazy("Person"),
        max_length=254,
        help_text=gettext_lazy("The name of the account, or its mail address."),
        widget=UnfoldAdminTextInputWidget(attrs={"list": "people", "autocomplete": "off"}),
    )
    role = forms.ChoiceField(
        label=gettext_lazy("Role"), choices=Role.choices, widget=UnfoldAdminSelectWidget()
    )

    def clean_user(self) -> User:
        """The one active account of that name, or else of that address."""
        typed = self.cleaned_data["user"]
        active = User.objects.filter(is_active=True)
        found = (
            active.filter(username=typed)[:1]
            or active.filter(Q(username__iexact=typed) | Q(email__iexact=typed))[:2]
        )
        if len(found) != 1:
            raise ValidationError(gettext("No active account has this name or address."))
        return found[0]


def show_settings(request: HttpRequest, actor: Actor, group: Group) -> HttpResponse:
    """The settings; POST `do` changes the rules, sets a member's role or removes a member."""
    do = request.POST.get("do", "")
    rules = _RulesForm(actor, group, request.POST if do == "rules" else None)
    member = _MemberForm(request.POST if do == "member" else None)

    def changed(line: str) -> HttpResponse:
        messages.success(request, line)
        return HttpResponseRedirect(tab_url(group, "settings"))

    def save_rules() -> HttpResponse:
        rules.save_for(actor, group)
        return changed(gettext("Saved. Agents get the instructions and rules from now on."))

    def save_member() -> HttpResponse:
        set_to = set_member(actor, group, **member.cleaned_data)
        return changed(gettext("{user} is {role} now.").format(user=set_to.user, role=in_words(set_to.role)))

    if do == "remove":
        gone = User.objects.filter(username=request.POST.get("user", ""), memberships__group=group).first()
        if gone is not None:
            remove_member(actor, group, user=gone)
            return changed(gettext("{user} is no longer a member.").format(user=gone.username))
    form, save = (rules, save_rules) if do == "rules" else (member, save_member)
    answer = try_form(form, save)  # type: ignore[arg-type]  # it takes forms of models, too
    if answer is not None:
        return answer
    members = Membership.objects.filter(group=group).select_related("user").order_by("user__username")
    context = {
        "rules": rules,
        "member": member,
        "members": members,
        "roles": Role.choices,
        "people": User.objects.filter(is_active=True)
        .exclude(memberships__group=group)
        .order_by("username")[:_OFFERED_NAMES],
        "tokens": _reaching_tokens(actor, group),
        "held": _held(group),
        "has_left_behind": has_moved_away(group),
    }
    return render_tab(request, group, "settings", context)


def _reaching_tokens(actor: Actor, group: Group) -> Sequence[tuple[ApiToken, bool]]:
    """The valid tokens with which an agent enters the group, and whether the actor may open each one's page."""
    reach = Q(all_groups=True) | Q(groups=group)
    owned = Q(user__memberships__group=group) | Q(user__is_superuser=True)
    rows = ApiToken.objects.filter(reach, owned, user__is_active=True, revoked_at=None, suspended_at=None)
    tokens = rows.select_related("user").distinct().order_by("user__username", "name")[:_TOKENS]
    return [(each, actor.all_groups or each.user_id == actor.user_id) for each in tokens if each.is_valid()]


def _held(group: Group) -> str:
    """What the group holds, and the share of its limits."""
    use = use_of(group)
    text = gettext("live memories: {memories}, text: {bytes}").format(
        memories=f"{use.memories:,}", bytes=filesizeformat(use.bytes)
    )
    if not (use.max_memories or use.max_bytes):
        return gettext("{held}; no limit").format(held=text)
    return gettext("{held}; {share} of its limit").format(held=text, share=f"{use.share:.0%}")


def purge_left(request: HttpRequest, actor: Actor, group: Group) -> HttpResponse:
    """Show what a purge of what moved memories left here would destroy; on POST, destroy it."""
    form = ReasonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        done = purge_left_behind(actor, group.slug, reason=form.cleaned_data["reason"])
        text = gettext(
            "Purged in “{group}”: {payloads} contents of the log, {recalls} recalls, {checkpoints} checkpoints."
        )
        counts = {"payloads": done.log_payloads, "recalls": done.recalls, "checkpoints": done.checkpoints}
        messages.success(request, text.format(group=group.slug, **counts))
        return HttpResponseRedirect(tab_url(group, "settings"))
    question = Confirmation(
        title=gettext("Purge what moved memories left in {group}?").format(group=group.slug),
        button=gettext("Purge what stayed behind"),
        back=tab_url(group, "settings"),
        consequences=_left_behind_lines(purge_left_behind(actor, group.slug, dry_run=True)),
        is_dangerous=True,
    )
    context = group_context(request, group, "settings") | {"question": question, "form": form}
    return render_in_site(request, "admin/loci/confirm.html", context)


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
