"""Groups: finding the one that a call names, creating and changing them."""

import difflib
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db import transaction

from access import audit
from access.actor import ADMIN, CREATE_GROUP, READ, WRITE, Actor
from access.additions import additions
from access.audit.operations import Operation
from access.errors import (
    Conflict,
    GroupNotFound,
    GroupRequired,
    InvalidInput,
    NotPermitted,
    refuse_unstorable,
)
from access.groups.guarding import admit, check_rules, is_milder_guard, refuse_secret
from access.limits.quota import check_may_limit
from access.models import CandidatePolicy, CaptureRule, CleanupRule, Group, Membership, Role, ScopeRule
from access.models.group import SLUG_PATTERN
from access.visibility import check_may_read
from storage.compiled_queries import CompiledQuery
from storage.dialect import hold_until_commit

# What holds for everybody: its memories are global unless said otherwise, so each group is read together with it.
EVERYONE = "everyone"
# Said to an actor that could make the group if there were none.
FOREIGN = "This name belongs to a group you cannot access. Ask one of its admins, or choose another name."
_MAX_CHOICES_SHOWN = 12
_MAX_CHARS = {"title": 200, "instructions": 20_000}
_BY_SLUG = CompiledQuery(lambda slug: Group.objects.filter(slug=slug).order_by())


def hold_groups(keys: Iterable[int]) -> None:
    """Hold the groups with these keys until the transaction ends; read what decides a write only afterwards.

    One writer at a time in each group, where the database lets many write at once.
    """
    hold_until_commit(f"group {key}" for key in keys)


@dataclass(frozen=True)
class _ResolvedGroup:
    """The group that a call works in, and whether the call created it."""

    group: Group
    created: bool = False


@dataclass(frozen=True)
class UnknownGroup:
    """A group that does not exist, or that the actor may not enter; `note` has the same words for both."""

    slug: str
    note: str


def entered_groups(actor: Actor, right: str = "") -> list[Group]:
    """The groups that the actor may enter, by slug and `everyone` last, without archived ones.

    `right`: only those where the actor has it.
    """
    groups = Group.objects.filter(archived=False)
    entered = groups if actor.all_groups else groups.filter(key__in=actor.roles)
    shown = [group for group in entered if not right or actor.may(right, group.key)]
    return sorted(shown, key=lambda group: group.slug == EVERYONE)


def find_group(actor: Actor, slug: str | None, *, right: str = READ) -> Group:
    """The named group, else the token's default, else LOCI_GROUP.

    Raises:
        GroupRequired: no group is named and there is no default; the hint lists the choices.
        GroupNotFound: no group of that name exists that the actor may enter. The hint names similar ones; for a write it
            says who can make the group, never another project.
        NotPermitted: the actor may enter the group but lacks `right` there.
    """
    wanted = _resolve_slug(actor, slug)
    return check_access(actor, wanted, _BY_SLUG.first(wanted), right)


def check_access(actor: Actor, slug: str, group: Group | None, right: str) -> Group:
    """The group found under `slug` if the actor has `right` in it; raises as find_group() does."""
    if group is None or not actor.may_enter(group.key):
        if right == WRITE:
            hint = FOREIGN if actor.may(CREATE_GROUP) else _tell_who_makes(actor, slug)
        else:
            slugs = [each.slug for each in entered_groups(actor)]
            similar = difflib.get_close_matches(slug, slugs, n=3, cutoff=0.5)
            hint = f"Did you mean {' or '.join(similar)}?" if similar else _list_choices(actor)
        raise GroupNotFound(f"There is no group '{slug}' that you may use.", hint=hint, field="group")
    if not actor.may(right, group.key):
        raise NotPermitted(
            f"You may not {right} in the group '{slug}'.",
            hint=f"Ask an admin of the group for a role, and for a token with the scope '{right}'.",
            field="group",
        )
    if group.archived and right == WRITE:
        raise NotPermitted(
            f"The group '{slug}' is archived and accepts no new memories.",
            hint="An admin of the group can reopen it: loci group update NAME --archived no.",
            field="group",
        )
    return group


def find_known_group(actor: Actor, slug: str | None) -> Group | UnknownGroup:
    """The group as in find_group(); for a reader, a group that it may not enter is one where nothing is stored yet.

    Raises:
        GroupRequired: no group is named and there is no default.
        NotPermitted: the actor may not read, there or at all.
    """
    wanted = _resolve_slug(actor, slug)
    group = _BY_SLUG.first(wanted)
    if group is not None and actor.may_enter(group.key):
        return check_access(actor, wanted, group, READ)
    check_may_read(actor)
    return UnknownGroup(wanted, f"Nothing is stored yet in '{wanted}'. {_tell_who_makes(actor, wanted)}")


def _tell_who_makes(actor: Actor, slug: str) -> str:
    """Who can make the group: the actor by its first store, or who else."""
    if actor.may(CREATE_GROUP) and actor.may(WRITE):
        return "Your first store creates the group, unless the name belongs to a group you cannot access."
    return (
        f"You cannot make the group: an operator can (loci group create {slug}), and so can a token with the scope"
        " 'create-group' by its first store. If it is there already, one of its admins can make you a member."
    )


def find_or_create_group(actor: Actor, slug: str | None) -> _ResolvedGroup:
    """The group to write in as in find_group(), created if it does not exist and the actor may create groups."""
    wanted = _resolve_slug(actor, slug)
    group = _BY_SLUG.first(wanted)
    if group is None and actor.may(CREATE_GROUP):
        hold_until_commit([f"new group {wanted}"])  # another may just be making it
        group = _BY_SLUG.first(wanted)
    if group is not None or not actor.may(CREATE_GROUP):
        return _ResolvedGroup(check_access(actor, wanted, group, WRITE))
    return _ResolvedGroup(create_group(actor, wanted), created=True)


def find_group_to_write(actor: Actor, slug: str | None) -> Group | None:
    """The group to write into, None if it is to be created; raises the error that finding or creating it would."""
    try:
        return find_group(actor, slug, right=WRITE)
    except GroupNotFound:
        wanted = wanted_slug(actor, slug)
        if not actor.may(CREATE_GROUP):
            raise
        if Group.objects.filter(slug=wanted).exists():
            # Created by another caller just now; refused again if the actor may not write there.
            return find_group(actor, slug, right=WRITE)
        return None


def leave_uncreated(actor: Actor, resolved: _ResolvedGroup) -> _ResolvedGroup:
    """A group whose creation was rolled back, without the role that the actor got: another group may get its key."""
    actor.roles.pop(resolved.group.key, None)
    return _ResolvedGroup(resolved.group)


def create_group(actor: Actor, slug: str, *, title: str = "", private: bool = False) -> Group:
    """Create a group; its creator becomes its admin. One transaction. Memories of `everyone` are global by default.

    Raises:
        NotPermitted: the actor lacks the scope create-group.
        InvalidInput: the name is not allowed.
        Conflict: the name is taken.
    """
    if not actor.may(CREATE_GROUP):
        raise NotPermitted("You may not create groups.", hint="Use a token with the scope 'create-group'.")
    check_slug(slug, field="slug")
    check_texts(title=title)
    check_may_be_private(slug, private=private)
    title = admit(title, actor.door, None, field="title").value
    with transaction.atomic():
        if Group.objects.filter(slug=slug).exists():
            raise Conflict(
                f"There is already a group '{slug}'.",
                hint="Change that group, or choose another name.",
                field="slug",
            )
        default_scope = ScopeRule.GLOBAL if slug == EVERYONE else ""
        group = Group.objects.create(
            slug=slug, title=title, private=private, created_by=actor.name, default_scope=default_scope
        )
        if actor.user_id is not None:
            Membership.objects.create(user_id=actor.user_id, group=group, role=Role.ADMIN)
        if actor.token_key is not None and not actor.all_groups:
            group.tokens.add(actor.token_key)
        log_group(actor, group, action="create", private=private)
    if actor.user_id is not None:
        # After the commit: the actor may outlive a failed transaction, and another group could get the key.
        actor.roles.setdefault(group.key, Role.ADMIN)
    return group


def log_group(actor: Actor, group: Group, **payload: object) -> None:
    """Log a change of a group in its chain, inside the caller's transaction."""
    audit.append(actor, Operation.GROUP, group=group.id, subject=f"group:{group.slug}", payload=payload)


def check_may_be_private(slug: str, *, private: bool) -> None:
    """Raise InvalidInput for a private group that everybody shall read."""
    if private and slug == EVERYONE:
        raise InvalidInput(
            f"The group '{EVERYONE}' is read together with each group: it cannot be private.",
            hint="Choose another name for a private group.",
            field="private",
        )


def create_everyone(actor: Actor) -> Group:
    """Create the group for what everybody should know. For a new home."""
    return create_group(actor, EVERYONE, title="What everybody should know")


@dataclass(frozen=True)
class GroupChange:
    """New values for a group; None leaves a value unchanged. set_private() changes whether it is private.

    An empty `default_scope` and a limit of 0 follow the instance's rule. `guard` has rules such as `personal=mask`, separated with commas.
    """

    title: str | None = None
    instructions: str | None = None
    policy: str | None = None
    policy_confidence: float | None = None
    archived: bool | None = None
    default_scope: str | None = None
    captures: str | None = None
    cleanup: str | None = None
    guard: str | None = None
    max_memories: int | None = None
    max_bytes: int | None = None


# Of a change: the values allowed, what they are called, and what a hint adds.
_CHOICES = {
    "policy": (CandidatePolicy.values, "policy", ""),
    "default_scope": (["", *ScopeRule.values], "rule for scopes", "; empty for the instance's"),
    "captures": (CaptureRule.values, "rule for captures", ""),
    "cleanup": (CleanupRule.values, "rule for clean-up", ""),
}


def update_group(
    actor: Actor,
    slug: str,
    change: GroupChange,
    *,
    right: str = ADMIN,
    details: Mapping[str, str] | None = None,
) -> Group:
    """Change a group and log the old values; if nothing differs, nothing is written. One transaction.

    `right` is less than ADMIN where a curator accepts proposed instructions; `details` are added to the log row.

    Raises:
        GroupNotFound, NotPermitted: the group does not exist, the actor is not its admin, or a token would make a rule milder;
            the limits of what it may hold are for an admin of all groups.
        InvalidInput: a value is not allowed.
        SensitiveText: the title or the instructions hold a secret.
        Conflict: the title or the instructions repeat a text that was withdrawn in the group.
    """
    found = find_group(actor, slug, right=right)
    _check_change(change)
    check_may_limit(actor, max_memories=change.max_memories, max_bytes=change.max_bytes)
    wanted = {name: value for name, value in asdict(change).items() if value is not None}
    if "guard" in wanted:
        wanted["guard"] = check_rules(wanted["guard"])
    for name in wanted.keys() & {"title", "instructions"}:
        wanted[name] = admit(
            wanted[name], actor.door, found, field=name, may_instruct=name == "instructions"
        ).value
    with transaction.atomic():
        group = Group.objects.select_for_update().get(pk=found.pk)
        changed = {
            name: [getattr(group, name), value]
            for name, value in wanted.items()
            if getattr(group, name) != value
        }
        for name in changed.keys() & {"title", "instructions"}:
            for check in additions("checks of group texts"):
                check(actor, group, name, str(changed[name][1]))
        if not actor.is_person:
            _refuse_milder(changed)
        if changed:
            for name, (_, value) in changed.items():
                setattr(group, name, value)
            group.save(update_fields=[*changed, "updated_at"])
            log_group(actor, group, action="update", changes=changed, **(details or {}))
    return group


def _refuse_milder(changed: Mapping[str, Sequence[Any]]) -> None:
    """Raise NotPermitted for a change from a rule to a milder one: a token would let in, show to all or destroy what is a person's to decide."""
    is_milder: dict[str, Callable[[Any, Any], bool]] = {
        "guard": is_milder_guard,
        "policy": lambda old, new: CandidatePolicy.values.index(new) < CandidatePolicy.values.index(old),
        "policy_confidence": lambda old, new: new < old,
        "captures": lambda _, new: new == CaptureRule.LIVE,
        "cleanup": lambda _, new: new == CleanupRule.DELETE,
        # Unset is the instance's rule: group or by-type.
        "default_scope": lambda old, new: _width(new or ScopeRule.BY_TYPE) > _width(old or ScopeRule.GROUP),
    }
    for name in changed.keys() & is_milder.keys():
        if is_milder[name](*changed[name]):
            raise NotPermitted(
                f"Only a person can make '{name}' milder.",
                hint="Do it in the browser or with a command.",
                field=name,
            )


def _width(rule: str) -> int:
    """How many memories a rule shows to every group, as a rank."""
    return ScopeRule.values.index(rule)


def _check_change(change: GroupChange) -> None:
    for name, (allowed, called, more) in _CHOICES.items():
        value = getattr(change, name)
        if value is not None and value not in allowed:
            raise InvalidInput(
                f"'{value[:40]}' is not a {called}.",
                hint=f"Use {', '.join(filter(None, allowed))}{more}.",
                field=name,
            )
    if change.policy_confidence is not None and not 0 <= change.policy_confidence <= 1:
        raise InvalidInput("policy_confidence must be between 0 and 1.", field="policy_confidence")
    check_texts(title=change.title, instructions=change.instructions)


def check_texts(**texts: str | None) -> None:
    """Raise InvalidInput if a title or instructions are too long or not storable."""
    for name, text in texts.items():
        if text is not None:
            refuse_unstorable(text, field=name)
            if len(text) > _MAX_CHARS[name]:
                raise InvalidInput(f"'{name}' is longer than {_MAX_CHARS[name]:,} characters.", field=name)


def as_free_slug(name: str) -> str:
    """A free group slug derived from this name."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")[:70] or "group"
    taken = set(Group.objects.filter(slug__startswith=plain).values_list("slug", flat=True))
    return next(
        slug for n in itertools.count(1) if (slug := plain if n == 1 else f"{plain}-{n}") not in taken
    )


@lru_cache(maxsize=1024)  # each call names a group, and a store asks three times
def check_slug(slug: str, *, field: str = "group") -> None:
    """Raise InvalidInput if a group's name is not allowed."""
    if not re.fullmatch(SLUG_PATTERN, slug):
        raise InvalidInput(
            f"'{slug[:80]}' is not a valid group name.",
            hint="Use lower-case a-z, 0-9, dot, dash and underscore, starting with a letter or digit; at most 80.",
            field=field,
        )
    refuse_secret(slug, field=field, label="The group's name")


def _resolve_slug(actor: Actor, slug: str | None) -> str:
    """The name of the group that a call means; raises GroupRequired, or InvalidInput for a bad name."""
    if wanted := wanted_slug(actor, slug):
        check_slug(wanted)
        return wanted
    raise GroupRequired(
        "No group is named and there is no default.", hint=_list_choices(actor), field="group"
    )


def wanted_slug(actor: Actor, slug: str | None) -> str:
    """The slug of the group to use: the one named, else the token's default, else the settings'."""
    return slug or actor.default_group or str(settings.LOCI.access.default_group)


def _list_choices(actor: Actor) -> str:
    """A hint that lists the groups that the actor may enter, but `everyone`: a project's facts do not belong there."""
    slugs = [group.slug for group in entered_groups(actor) if group.slug != EVERYONE][
        : _MAX_CHOICES_SHOWN + 1
    ]
    if not slugs:
        return "There are no groups yet: name one, and the first store creates it."
    more = ", …" if len(slugs) > _MAX_CHOICES_SHOWN else ""
    return f"Name one of: {', '.join(slugs[:_MAX_CHOICES_SHOWN])}{more}."
