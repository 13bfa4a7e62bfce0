"""The rows of sessions: found, opened, switched off and tidied; and the group of the folder that one runs in."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from access.actor import READ, WRITE, Actor
from access.groups import EVERYONE, entered_groups
from access.groups.guarding import OnHold, admit, safe_label
from access.models import Group
from guard import Door
from loci_site.hooks.events import HookCall, HookEvent, SessionPlace
from loci_site.hooks.models import HookInjection, HookSession, RepositoryHead
from loci_site.hooks.repository import note_head
from memories.store.places import BLANKED, TextPlace

HOOK_PLACES: Final = (
    TextPlace("hook sessions", "sessions of agents contain it", HookSession, ("state", "folder", "origin"), BLANKED,
          group="group__id"),
    TextPlace("hook injections", "notes of what agents got", HookInjection, own=lambda doomed: Q(memory_id__in=doomed.ids)),
)  # fmt: skip


def working_actor(actor: Actor) -> Actor:
    """The token's actor with the two rights that hooks use for it; its roles bound them as ever."""
    return replace(actor, scopes=frozenset({READ, WRITE}))


def find_session(actor: Actor, call: HookCall) -> HookSession | None:
    """The session's row; None before its first event."""
    rows = HookSession.objects.select_related("group", "checkpoint")
    return rows.filter(token=actor.token_key, client=call.client, session=call.session).first()


def session_of(actor: Actor, call: HookCall) -> HookSession:
    """The session's row, or an unsaved one with the group of its place."""
    assert actor.token_key is not None  # noqa: S101 - hooks are called with tokens only
    return find_session(actor, call) or HookSession(
        token_id=actor.token_key,
        client=call.client,
        session=call.session,
        group=group_of_place(actor, call.place),
        folder=safe_label(call.place.folder),
        origin=safe_label(call.place.origin),
        is_off=call.is_ignored,
    )


def open_session(actor: Actor, call: HookCall) -> HookSession:
    """The session's saved row, seen now. A start looks for the group again: the folder's may exist by now."""
    note_head(actor, call)
    row = session_of(actor, call)
    row.seen_at = timezone.now()
    row.is_off = row.is_off or call.is_ignored
    if row.pk is None:
        fresh = {name: getattr(row, name) for name in ("group", "folder", "origin", "is_off", "seen_at")}
        row, _ = HookSession.objects.get_or_create(
            token_id=row.token_id, client=row.client, session=row.session, defaults=fresh
        )
    elif call.event is HookEvent.START or row.group is None:
        row.group = group_of_place(actor, call.place)
        row.save(update_fields=["group", "seen_at", "is_off"])
    else:
        row.save(update_fields=["seen_at", "is_off"])
    return row


def change_state(row: HookSession, **changes: Any) -> None:
    """Save new values of what the session's checkpoint says."""
    row.state = {**row.state, **changes}
    row.save(update_fields=["state"])


def as_stored(row: HookSession, value: Any, door: Door = Door.AGENT) -> Any:
    """A text or JSON value of a client as the group's policy stores it: it cannot be sent again, so it is masked.

    Call it on the whole text: half a secret has no format any more.
    """
    return admit(value, door, row.group, on_hold=OnHold.MASK).value


def injected_ids(row: HookSession) -> set[UUID]:
    """The memories that the session has had since its last compaction."""
    if row.pk is None:
        return set()
    known = HookInjection.objects.filter(session=row, is_forgotten=False)
    return set(known.values_list("memory_id", flat=True))


def record_injections(row: HookSession, event: HookEvent, found: dict[UUID, int]) -> None:
    """Note the memories that the session gets now, with the tokens of each."""
    HookInjection.objects.bulk_create(
        HookInjection(session=row, memory_id=id_, event=event.value, tokens=tokens)
        for id_, tokens in found.items()
    )


def delete_old_rows() -> int:
    """Delete sessions and heads that have been quiet for as long as the recall log is kept."""
    old = timezone.now() - timedelta(days=settings.LOCI.maintenance.recall_log_days)
    return sum(model.objects.filter(seen_at__lt=old).delete()[0] for model in (HookSession, RepositoryHead))


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
    return _as_slug(re.split(r"[/:\\]", origin.rstrip("/\\").removesuffix(".git"))[-1])


def folder_name(folder: str) -> str:
    """The last part of a path of any system, as a group would be called."""
    is_windows = "\\" in folder or re.match(r"[A-Za-z]:", folder)
    return _as_slug((PureWindowsPath(folder) if is_windows else PurePosixPath(folder)).name)


def _as_slug(name: str) -> str:
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
