"""The group of the folder that a session runs in: configured, or one that exists under the repository's or folder's name."""

import re
from pathlib import PurePosixPath, PureWindowsPath

from django.conf import settings

from access.actor import READ, Actor
from access.groups import EVERYONE, entered_groups
from access.models import Group
from loci_site.hooks.events import SessionPlace


def group_of_place(actor: Actor, place: SessionPlace) -> Group | None:
    """The group that memories of this place belong to, never made here; None if nothing says which.

    In this order: the configured one, the repository's name, the folder's name, the token's default, the setting's. A
    configured group that the actor may not read is none: a guess would bring another project's memories.
    """
    if place.group:
        return _readable(actor, place.group)
    default = actor.default_group or str(settings.LOCI.access.default_group)
    named = (repository_of(place.origin), folder_name(place.folder), default)
    found = (_readable(actor, slug) for slug in named if slug and (slug != EVERYONE or slug == default))
    return next(filter(None, found), None)


def repository_of(origin: str) -> str:
    """The repository's name in the address of its origin, as a group would be called."""
    return as_slug(re.split(r"[/:\\]", origin.rstrip("/\\").removesuffix(".git"))[-1])


def folder_name(folder: str) -> str:
    """The last part of a path of any system, as a group would be called."""
    is_windows = "\\" in folder or re.match(r"[A-Za-z]:", folder)
    return as_slug((PureWindowsPath(folder) if is_windows else PurePosixPath(folder)).name)


def as_slug(name: str) -> str:
    """The name in the letters of a group's name."""
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")[:80]


def describe_choices(actor: Actor, place: SessionPlace) -> str:
    """A question to the person which group this place belongs to; empty if there is none to choose."""
    slugs = [group.slug for group in entered_groups(actor) if group.slug != EVERYONE][:8]
    if not slugs:
        return ""
    where = repository_of(place.origin) or folder_name(place.folder) or "this folder"
    return (
        f"No group of the shared memory belongs to {where}. The groups are: {', '.join(slugs)}. The person can name one with"
        " 'loci connect --place FOLDER=GROUP'."
    )


def _readable(actor: Actor, slug: str) -> Group | None:
    group = Group.objects.filter(slug=slug, archived=False).first()
    return group if group is not None and actor.may(READ, group.key) else None
