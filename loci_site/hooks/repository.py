"""The caller's repository, branch and head, and which of the commits named by memories the head contains.

The server never runs git. `loci-hook` reports a head with each event; where a commit is unknown for it, the answer's header
asks, and the client tells which of the commits it has. What runs on the person's machine (stdio, commands) asks git itself.
"""

from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from django.utils import timezone

from access.actor import READ, Actor, Checkout
from loci_site.hooks.client import reachable, read_repository
from loci_site.hooks.events import HookCall, list_of
from loci_site.hooks.models import RepositoryHead
from memories.models import Memory
from memories.types import State
from storage.compiled_queries import CompiledQuery

HEADER: Final = "Loci-Anchors"  # of an answer: it asks the client which commits its head contains
FRESH: Final = timedelta(
    hours=1
)  # the last head that a hook reported counts so long for other calls of the token
_MAX_ANCHORS: Final = 500  # the newest
_LAST_HEAD: Final = CompiledQuery(
    lambda token: RepositoryHead.objects.filter(token=token).order_by("-seen_at", "-key")[:1]
)


def _anchors_of(actor: Actor) -> list[str]:
    """The commits that live memories of the actor's groups are anchored to, newest first."""
    rows = Memory.objects.exclude(anchor_commit="").filter(state=State.LIVE)
    if not actor.all_groups:
        rows = rows.filter(group__in=[key for key in actor.roles if actor.may(READ, key)])
    found = rows.order_by("-key").values_list("anchor_commit", flat=True)[: 4 * _MAX_ANCHORS]
    return list(dict.fromkeys(found))[:_MAX_ANCHORS]


def note_head(actor: Actor, call: HookCall) -> RepositoryHead | None:
    """The row of the head that a call reports, updated; None outside a repository."""
    place = call.place
    if not place.head or actor.token_key is None or call.is_late or call.is_ignored:
        return None
    row, _ = RepositoryHead.objects.update_or_create(
        token_id=actor.token_key,
        origin=place.origin,
        head=place.head,
        defaults={"branch": place.branch, "seen_at": timezone.now()},
    )
    return row


def asks_for_anchors(actor: Actor, call: HookCall) -> bool:
    """True if a memory is anchored to a commit of unknown reachability from this head."""
    anchors = _anchors_of(actor) if call.place.head and not call.is_late else []
    if not anchors:
        return False
    row = find_head(actor, call)
    return row is None or any(anchor not in row.known for anchor in anchors)


def answer_anchors(actor: Actor, call: HookCall, sent: dict[str, Any]) -> dict[str, Any]:
    """The commits to ask the client about; with `reachable`, the client's reply is stored."""
    ours = inner if isinstance(inner := sent.get("loci"), dict) else {}
    row = note_head(actor, call)
    anchors = _anchors_of(actor)
    if row is None:
        return {}
    if not isinstance(ours.get("reachable"), list):
        return {"anchors": [anchor for anchor in anchors if anchor not in row.known]}
    asked, found = set(list_of(ours, "asked")) & set(anchors), set(list_of(ours, "reachable"))
    # Commits that no memory names any more are dropped.
    kept = {anchor: is_there for anchor, is_there in row.known.items() if anchor in anchors}
    row.known = kept | {anchor: anchor in found for anchor in asked}
    row.save(update_fields=["known"])
    return {}


def find_head(actor: Actor, call: HookCall) -> RepositoryHead | None:
    rows = RepositoryHead.objects.filter(
        token=actor.token_key, origin=call.place.origin, head=call.place.head
    )
    return rows.first()


def with_hook_checkout(actor: Actor, call: HookCall) -> Actor:
    """The actor with the checkout reported by a hook's call, if the folder is in a repository."""
    if not call.place.head:
        return actor
    row = find_head(actor, call)
    known = row.known if row is not None else {}
    return replace(actor, checkout=_checkout_of(call.place.origin, call.place.branch, call.place.head, known))


def with_last_checkout(actor: Actor) -> Actor:
    """The actor with its token's last reported checkout, if recent; for calls over HTTP."""
    if actor.checkout is not None or actor.token_key is None:
        return actor
    row = _LAST_HEAD.first(actor.token_key)
    if row is None or row.seen_at < timezone.now() - FRESH:
        return actor
    return replace(actor, checkout=_checkout_of(row.origin, row.branch, row.head, row.known))


def with_own_checkout(actor: Actor, folder: Path | None = None) -> Actor:
    """The actor with the checkout of this process's folder, read with git; for stdio and commands."""
    try:
        where = str(folder or Path.cwd())
    except OSError:  # the folder is gone
        return actor
    found = read_repository(where)
    if not found.get("head"):
        return actor
    anchors = _anchors_of(actor)
    has = cached_reachable(where, found["head"], tuple(anchors))
    known = {} if has is None else {anchor: anchor in set(has) for anchor in anchors}
    return replace(
        actor, checkout=_checkout_of(found.get("origin", ""), found.get("branch", ""), found["head"], known)
    )


@lru_cache(maxsize=64)
def cached_reachable(folder: str, head: str, anchors: tuple[str, ...]) -> list[str] | None:
    return reachable(folder, head, [*anchors])


def _checkout_of(origin: str, branch: str, head: str, known: dict[str, bool]) -> Checkout:
    lost = frozenset(anchor for anchor, is_there in known.items() if not is_there)
    return Checkout(origin, branch, head, lost)
