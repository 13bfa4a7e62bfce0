"""Finding the group a caller means, and making it where a store may."""

import difflib
import re
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction

from access import audit
from access.actor import CREATE_GROUP, READ, Actor
from access.errors import Conflict, GroupNotFound, GroupRequired, InvalidInput, NotPermitted
from access.models import Group, Membership, Role
from access.models.group import SLUG_PATTERN

MAX_CHOICES_SHOWN = 12


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
    group = Group.objects.filter(slug=wanted).first()
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
    return group


def find_or_create_group(actor: Actor, slug: str | None, *, right: str) -> ResolvedGroup:
    """Give the group as find_group() does; make it where the actor may create groups and it does not exist."""
    wanted = _wanted(actor, slug)
    if Group.objects.filter(slug=wanted).exists() or not actor.may(CREATE_GROUP):
        return ResolvedGroup(find_group(actor, wanted, right=right))
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
    with transaction.atomic():
        if Group.objects.filter(slug=slug).exists():
            raise Conflict(f"There is a group '{slug}' already.", field="group")
        group = Group.objects.create(slug=slug, title=title, private=private, created_by=actor.name)
        if actor.user_id is not None:
            Membership.objects.create(user_id=actor.user_id, group=group, role=Role.ADMIN)
            actor.roles.setdefault(group.key, Role.ADMIN)
        if actor.token_key is not None and not actor.all_groups:
            group.tokens.add(actor.token_key)
        audit.append(
            actor, "group", subject=f"group:{slug}", payload={"action": "create", "private": private}
        )
    return group


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
