"""Finding the group a caller means, and making it where a store may."""

import difflib
import re
from dataclasses import asdict, dataclass

from django.conf import settings
from django.db import transaction

from access import audit
from access.actor import ADMIN, CREATE_GROUP, READ, WRITE, Actor
from access.audit.operations import Operation
from access.errors import Conflict, GroupNotFound, GroupRequired, InvalidInput, NotPermitted
from access.models import CandidatePolicy, Group, Membership, Role
from access.models.group import SLUG_PATTERN
from access.unstorable_text import refuse_unstorable
from storage.compiled_queries import CompiledQuery

MAX_CHOICES_SHOWN = 12
MAX_TITLE_CHARS = 200
MAX_INSTRUCTIONS_CHARS = 20_000
_BY_SLUG = CompiledQuery(lambda slug: Group.objects.filter(slug=slug).order_by())


@dataclass(frozen=True)
class ResolvedGroup:
    """The group a call works in, and whether this call made it."""

    group: Group
    created: bool = False


def entered_groups(actor: Actor) -> list[Group]:
    """List the groups the actor may enter, by slug."""
    groups = Group.objects.filter(archived=False)
    return list(groups if actor.all_groups else groups.filter(key__in=actor.roles))


def find_group(actor: Actor, slug: str | None, *, right: str = READ) -> Group:
    """Give the group named, else the token's default, else LOCI_GROUP.

    Raises:
        GroupRequired: none is named and there is no default; the hint lists the choices.
        GroupNotFound: there is none of that name that the actor may enter; the hint names the nearest.
        NotPermitted: the actor may enter it but lacks `right` there.
    """
    wanted = _wanted(actor, slug)
    return _permitted(actor, wanted, _BY_SLUG.first(wanted), right)


def _permitted(actor: Actor, wanted: str, group: Group | None, right: str) -> Group:
    if group is None or not actor.may_enter(group.key):
        raise GroupNotFound(
            f"There is no group '{wanted}' that you may use.", hint=_nearest(actor, wanted), field="group"
        )
    if not actor.may(right, group.key):
        raise NotPermitted(
            f"You may not {right} in the group '{wanted}'.",
            hint=f"Ask an admin of the group for a role, and for a token with the scope '{right}'.",
            field="group",
        )
    if group.archived and right == WRITE:
        raise NotPermitted(
            f"The group '{wanted}' is archived: nothing new is stored in it.",
            hint="An admin of the group can open it again: loci group update NAME --archived no.",
            field="group",
        )
    return group


def find_or_create_group(actor: Actor, slug: str | None, *, right: str) -> ResolvedGroup:
    """Give the group as find_group() does; make it where the actor may create groups and it does not exist."""
    wanted = _wanted(actor, slug)
    group = _BY_SLUG.first(wanted)
    if group is not None or not actor.may(CREATE_GROUP):
        return ResolvedGroup(_permitted(actor, wanted, group, right))
    return ResolvedGroup(create_group(actor, wanted), created=True)


def create_group(actor: Actor, slug: str, *, title: str = "", private: bool = False) -> Group:
    """Make a group; its maker becomes its admin. One transaction.

    Raises:
        NotPermitted: the actor lacks the scope create-group.
        InvalidInput: the name is not allowed.
        Conflict: there is one of that name.
    """
    if not actor.may(CREATE_GROUP):
        raise NotPermitted("You may not create groups.", hint="Use a token with the scope 'create-group'.")
    check_slug(slug)
    _check_wording(title=title)
    with transaction.atomic():
        if Group.objects.filter(slug=slug).exists():
            raise Conflict(f"There is a group '{slug}' already.", field="group")
        group = Group.objects.create(slug=slug, title=title, private=private, created_by=actor.name)
        if actor.user_id is not None:
            Membership.objects.create(user_id=actor.user_id, group=group, role=Role.ADMIN)
        if actor.token_key is not None and not actor.all_groups:
            group.tokens.add(actor.token_key)
        audit.append(
            actor,
            Operation.GROUP,
            group=group.id,
            subject=f"group:{slug}",
            payload={"action": "create", "private": private},
        )
    if actor.user_id is not None:
        # Only now: the actor may outlive a transaction that fails, and the group's key go to another group.
        actor.roles.setdefault(group.key, Role.ADMIN)
    return group


@dataclass(frozen=True)
class GroupChange:
    """What is to change of a group; None leaves a value as it is. Whether it is private is set_private()'s to change."""

    title: str | None = None
    instructions: str | None = None
    policy: str | None = None
    policy_confidence: float | None = None
    archived: bool | None = None


def update_group(actor: Actor, slug: str, change: GroupChange) -> Group:
    """Change a group and log what was before; where nothing differs, nothing is written. One transaction.

    Raises:
        GroupNotFound, NotPermitted: the actor is no admin of such a group.
        InvalidInput: a value is not allowed.
    """
    found = find_group(actor, slug, right=ADMIN)
    _check_change(change)
    wanted = {name: value for name, value in asdict(change).items() if value is not None}
    with transaction.atomic():
        group = Group.objects.select_for_update().get(pk=found.pk)
        changed = {
            name: [getattr(group, name), value]
            for name, value in wanted.items()
            if getattr(group, name) != value
        }
        if changed:
            for name, (_, value) in changed.items():
                setattr(group, name, value)
            group.save(update_fields=[*changed, "updated_at"])
            audit.append(
                actor,
                Operation.GROUP,
                group=group.id,
                subject=f"group:{slug}",
                payload={"action": "update", "changes": changed},
            )
    return group


def _check_change(change: GroupChange) -> None:
    if change.policy is not None and change.policy not in CandidatePolicy.values:
        raise InvalidInput(
            f"'{change.policy[:40]}' is no policy.",
            hint=f"Use {', '.join(CandidatePolicy.values)}.",
            field="policy",
        )
    if change.policy_confidence is not None and not 0 <= change.policy_confidence <= 1:
        raise InvalidInput("policy_confidence must lie between 0 and 1.", field="policy_confidence")
    _check_wording(title=change.title, instructions=change.instructions)


def _check_wording(*, title: str | None = None, instructions: str | None = None) -> None:
    if title is not None:
        refuse_unstorable(title, field="title")
        if len(title) > MAX_TITLE_CHARS:
            raise InvalidInput(f"The title is longer than {MAX_TITLE_CHARS} characters.", field="title")
    if instructions is not None:
        refuse_unstorable(instructions, field="instructions")
        if len(instructions) > MAX_INSTRUCTIONS_CHARS:
            raise InvalidInput(
                f"The instructions are longer than {MAX_INSTRUCTIONS_CHARS:,} characters.",
                field="instructions",
            )


def check_slug(slug: str) -> None:
    """Raise InvalidInput where a group's name is not allowed."""
    if not re.fullmatch(SLUG_PATTERN, slug):
        raise InvalidInput(
            f"'{slug[:80]}' is no name for a group.",
            hint="Use lower-case a-z, 0-9, dot, dash and underscore, starting with a letter or digit; at most 80.",
            field="group",
        )


def _wanted(actor: Actor, slug: str | None) -> str:
    wanted = slug or actor.default_group or settings.LOCI.access.default_group
    if wanted:
        check_slug(str(wanted))
        return str(wanted)
    raise GroupRequired("No group is named and there is no default.", hint=_choices(actor), field="group")


def _choices(actor: Actor) -> str:
    slugs = [group.slug for group in entered_groups(actor)[: MAX_CHOICES_SHOWN + 1]]
    if not slugs:
        return "There are no groups yet: name one, and a store will make it."
    more = ", …" if len(slugs) > MAX_CHOICES_SHOWN else ""
    return f"Name one of: {', '.join(slugs[:MAX_CHOICES_SHOWN])}{more}."


def _nearest(actor: Actor, wanted: str) -> str:
    slugs = [group.slug for group in entered_groups(actor)]
    near = difflib.get_close_matches(wanted, slugs, n=3, cutoff=0.5)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return _choices(actor)
