"""API tokens: making, finding and revoking them; the secret itself is shown once and never kept."""

import hashlib
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from access import audit
from access.actor import ADMIN, ALL_SCOPES, Actor, Via
from access.audit.operations import Operation
from access.errors import InvalidInput, NotAuthenticated, NotFound, NotPermitted
from access.models import ApiToken, Group, Membership
from access.unstorable_text import refuse_unstorable
from storage.compiled_queries import CompiledQuery

if TYPE_CHECKING:
    from django.contrib.auth.models import User

PREFIX = "loci_"
SECRET_BYTES = 32
# last_used_at is written at most this often, so that a read does not become a write.
LAST_USED_RESOLUTION = timedelta(minutes=10)

# Asked anew for each call, so that a token that is revoked ends at once.
_TOKEN = CompiledQuery(
    lambda hash_: ApiToken.objects.select_related("user", "default_group").filter(token_hash=hash_).order_by()
)
_ROLES = CompiledQuery(
    lambda user: Membership.objects.filter(user=user).values_list("group_id", "role").order_by()
)


@dataclass(frozen=True)
class NewToken:
    """A token just made, with its secret: the only time that it is seen."""

    token: ApiToken
    secret: str


def hash_secret(secret: str) -> str:
    """Give the SHA-256 (hex) a token is kept as; the secret is random enough to need no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


def create_token(
    actor: Actor,
    *,
    user: "User",
    name: str,
    scopes: Iterable[str] = ("read", "write"),
    groups: Iterable[Group] = (),
    default_group: Group | None = None,
    expires_at: datetime | None = None,
) -> NewToken:
    """Make a token for `user`; without `groups` it reaches every group that the user does. One transaction.

    Raises:
        InvalidInput: an unknown scope, an empty name, an end in the past, or a default group the token cannot reach.
        NotPermitted: the actor makes it for somebody else without being an admin, or with more rights than it has.
    """
    wanted = _check_new(name, frozenset(scopes), expires_at)
    if actor.user_id != user.pk and not (actor.all_groups and actor.may(ADMIN)):
        raise NotPermitted("You may not make tokens for somebody else.", hint="Ask a superuser.")
    bound = list(groups)
    _check_not_wider(actor, wanted, bound)
    _check_default(actor, default_group, bound)
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    with transaction.atomic():
        token = ApiToken.objects.create(
            name=name.strip(),
            user=user,
            token_hash=hash_secret(secret),
            hint=secret[: len(PREFIX) + 4],
            scopes=sorted(wanted),
            all_groups=not bound,
            default_group=default_group,
            expires_at=expires_at,
        )
        token.groups.set(bound)
        audit.append(
            actor,
            Operation.TOKEN,
            subject=f"token:{token.id}",
            payload={
                "action": "create",
                "name": token.name,
                "user": user.get_username(),
                "scopes": token.scopes,
            },
        )
    return NewToken(token, secret)


def revoke_token(actor: Actor, token: ApiToken) -> ApiToken:
    """End a token now; revoking it twice is an error, so that nobody believes it did something.

    Raises:
        NotPermitted: it is somebody else's and the actor is no admin.
        NotFound: it is revoked already.
    """
    if actor.user_id != token.user_id and not (actor.all_groups and actor.may(ADMIN)):
        raise NotPermitted("You may not revoke somebody else's token.")
    with transaction.atomic():
        if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()) != 1:
            raise NotFound("That token is revoked already.")
        audit.append(
            actor,
            Operation.TOKEN,
            subject=f"token:{token.id}",
            payload={"action": "revoke", "name": token.name},
        )
    token.refresh_from_db()
    return token


def actor_for_secret(secret: str, *, via: str = Via.REST, client: str = "") -> Actor:
    """Give the Actor a token's secret stands for.

    Raises:
        NotAuthenticated: no secret, or one that is unknown, revoked, expired or whose user is inactive.
    """
    hint = "Send 'Authorization: Bearer loci_…'. 'loci token create' makes a token."
    if not secret:
        raise NotAuthenticated("A token is needed.", hint=hint)
    token = _TOKEN.first(hash_secret(secret))
    if token is None or not token.user.is_active:
        raise NotAuthenticated("The token is not known.", hint=hint)
    if not token.is_valid():
        raise NotAuthenticated(
            "The token is revoked or has expired.", hint="Make a new one with 'loci token create'."
        )
    record_use(token)
    return actor_for_token(token, via=via, client=client)


def actor_for_token(token: ApiToken, *, via: str, client: str = "") -> Actor:
    """Give the Actor of a token: its scopes, cut to what its user may do now."""
    roles, everywhere = _reach(token.user)
    if not token.all_groups:
        bound = set(token.groups.values_list("key", flat=True))
        roles = (
            dict.fromkeys(bound, "admin") if everywhere else {k: r for k, r in roles.items() if k in bound}
        )
        everywhere = False
    return Actor(
        name=f"{token.user.get_username()}/{token.name}",
        via=via,
        scopes=frozenset(token.scopes) & ALL_SCOPES,
        user_id=token.user_id,
        token_key=token.key,
        token_id=token.id,
        client=client,
        all_groups=everywhere,
        roles=roles,
        default_group=token.default_group.slug if token.default_group else "",
    )


def actor_for_user(user: "User", *, via: str) -> Actor:
    """Give the Actor of a person who is logged in; a superuser may do everything."""
    roles, everywhere = _reach(user)
    scopes = ALL_SCOPES if everywhere else ALL_SCOPES - {"create-group"}
    return Actor(
        name=user.get_username(),
        via=via,
        scopes=scopes,
        user_id=user.pk,
        is_person=True,
        all_groups=everywhere,
        roles=roles,
    )


def operator(via: str = Via.COMMAND) -> Actor:
    """Give the Actor of whoever runs commands on the machine itself, who can read the file anyway."""
    return Actor(name="operator", via=via, scopes=ALL_SCOPES, is_person=True, all_groups=True)


def _reach(user: "User") -> tuple[dict[int, str], bool]:
    if user.is_superuser:
        return {}, True
    return dict(_ROLES.rows(user.pk)), False


def record_use(token: ApiToken) -> None:
    """Remember that the token was used, without a reader ever waiting for the write lock."""
    if token.last_used_at is None or timezone.now() - token.last_used_at > LAST_USED_RESOLUTION:
        PENDING_TOKEN_USES[token.key] = timezone.now()
        for follow in TOKEN_USE_HOOKS:
            follow()


# Token key → when it was last used; written by flush_token_use() together with the other counters.
PENDING_TOKEN_USES: dict[int, datetime] = {}
# Called when a use is waiting; the room that writes the counters adds what starts its timer.
TOKEN_USE_HOOKS: list[Callable[[], None]] = []


def flush_token_use() -> int:
    """Write the pending last-used times; give how many."""
    done = 0
    for key in list(PENDING_TOKEN_USES):
        used_at = PENDING_TOKEN_USES.pop(key, None)
        if used_at:  # another process may have written a later one
            unknown_or_before = Q(last_used_at=None) | Q(last_used_at__lt=used_at)
            done += ApiToken.objects.filter(unknown_or_before, pk=key).update(last_used_at=used_at)
    return done


def _check_not_wider(actor: Actor, scopes: frozenset[str], bound: list[Group]) -> None:
    """Raise NotPermitted where a new token could do more than whoever makes it."""
    beyond = sorted(scopes - actor.scopes)
    if beyond:
        raise NotPermitted(
            f"You may not give the scope {', '.join(beyond)}: you do not have it.", hint="Ask a superuser."
        )
    outside = sorted(group.slug for group in bound if not actor.may_enter(group.key))
    if outside:
        raise NotPermitted(f"You may not give {', '.join(outside)}: it is not among your groups.")
    if actor.token_key is not None and not actor.all_groups and not bound:
        raise NotPermitted(
            "A token can make one for groups that it reaches, not for all.", hint="Name the groups."
        )


def _check_default(actor: Actor, default: Group | None, bound: list[Group]) -> None:
    """Raise where a token's default group is not among its groups, or not among those of whoever makes it."""
    if default is None:
        return
    if not actor.may_enter(default.key):
        raise NotPermitted(
            f"You may not give {default.slug}: it is not among your groups.", hint="Name one that is."
        )
    if bound and default not in bound:
        raise InvalidInput(
            f"The default group '{default.slug}' is not among the token's groups.",
            hint="Name it among them, or choose one of them.",
            field="default_group",
        )


def _check_new(name: str, scopes: frozenset[str], expires_at: datetime | None) -> frozenset[str]:
    if not name.strip():
        raise InvalidInput("A token needs a name.", hint="Name the agent that will use it.", field="name")
    refuse_unstorable(name, field="name")
    unknown = scopes - ALL_SCOPES
    if unknown or not scopes:
        allowed = ", ".join(sorted(ALL_SCOPES))
        raise InvalidInput(
            f"Unknown scope: {', '.join(sorted(unknown)) or '(none)'}.",
            hint=f"Use {allowed}.",
            field="scopes",
        )
    if expires_at is not None and expires_at <= timezone.now():
        raise InvalidInput("The end of the token lies in the past.", field="expires_at")
    return scopes
