"""API tokens: created, found and revoked; the secret is shown once and never stored."""

import hashlib
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from access import SCOPES, audit
from access.actor import ALL_SCOPES, CAPTURE, CREATE_GROUP, HOOK, READ, Actor, Via
from access.additions import additions
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotAuthenticated, NotFound, NotPermitted, refuse_unstorable
from access.groups.guarding import mask_words, safe_label
from access.limits.throttle import has_just_written, written_by
from access.limits.turns import remember_person
from access.models import ApiToken, Group, Membership
from storage.compiled_queries import CompiledQuery

if TYPE_CHECKING:
    from django.contrib.auth.models import User

PREFIX = "loci_"
_SECRET_BYTES = 32
# last_used_at is written at most this often, so that reads do not cause writes.
_LAST_USED_RESOLUTION = timedelta(minutes=10)

# Queried on every call, so that a revoked token stops working at once.
_TOKEN = CompiledQuery(
    lambda hash_: (
        ApiToken.objects.select_related("user__written", "default_group").filter(token_hash=hash_).order_by()
    )
)
_ROLES = CompiledQuery(
    lambda user: Membership.objects.filter(user=user).values_list("group_id", "role").order_by()
)


@dataclass(frozen=True)
class NewToken:
    """A new token with its secret, which is shown only this once."""

    token: ApiToken
    secret: str


def hash_secret(secret: str) -> str:
    """The SHA-256 (hex) under which a token is stored; a random secret needs no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


def expiry_after(days: int | None = None) -> datetime | None:
    """When a token made now ends, by default after `access.token_days`; None, as for 0 days: never."""
    days = settings.LOCI.access.token_days if days is None else days
    return timezone.now() + timedelta(days=days) if days else None


def create_token(
    actor: Actor,
    *,
    user: "User",
    name: str,
    scopes: Iterable[str] = ("read", "write"),
    groups: Iterable[Group] = (),
    include_global: bool = True,
    default_group: Group | None = None,
    expires_at: datetime | None = None,
    origin: str = "",
) -> NewToken:
    """Create a token for `user`; without `groups` it reaches every group of the user. One transaction.

    `origin` binds it to one browser extension. Without `include_global` it sees no global memories of other groups.

    Raises:
        InvalidInput: an unknown scope, an empty name, an expiry in the past, a default group outside `groups`, or no
            `groups` where global memories are hidden.
        NotPermitted: the token is for another user and the actor is not an admin, or it exceeds the actor's rights.
    """
    wanted = frozenset(scopes)
    _check_new_token(name, wanted, expires_at)
    if actor.user_id != user.pk and not actor.is_admin_of_all:
        raise NotPermitted("You may not create tokens for another user.", hint="Ask a superuser.")
    bound = list(groups)
    _check_within_rights(actor, wanted, bound, include_global=include_global)
    _check_default_group(actor, default_group, bound)
    name = mask_words(name)[:120]  # a mask may be longer than what it replaces
    secret = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
    with transaction.atomic():
        token = ApiToken.objects.create(
            name=name.strip(),
            user=user,
            token_hash=hash_secret(secret),
            hint=secret[: len(PREFIX) + 4],
            scopes=sorted(wanted),
            all_groups=not bound,
            include_global=include_global,
            default_group=default_group,
            expires_at=expires_at,
            origin=origin,
        )
        token.groups.set(bound)
        payload = {
            "action": "create",
            "name": token.name,
            "user": user.get_username(),
            "scopes": token.scopes,
        }
        log_change(actor, token, payload | ({"origin": origin} if origin else {}))
    return NewToken(token, secret)


def revoke_token(actor: Actor, token: ApiToken) -> ApiToken:
    """Revoke a token now; revoking it twice is an error, so that it is not mistaken for a success.

    Raises:
        NotPermitted: the token belongs to another user and the actor is not an admin.
        NotFound: it is revoked already.
    """
    _check_may_change(actor, token, "revoke")
    with transaction.atomic():
        if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()) != 1:
            raise NotFound("That token is revoked already.")
        log_change(actor, token, {"action": "revoke", "name": token.name})
    token.refresh_from_db()
    return token


def bearer_secret(authorization: str) -> str:
    """The secret in a header `Authorization: Bearer SECRET`; empty for any other."""
    scheme, _, secret = authorization.partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def actor_for_secret(secret: str, *, via: str = Via.REST, client: str = "", origin: str = "") -> Actor:
    """The Actor of a token's secret; `origin` is the one of a browser's request.

    Raises:
        NotAuthenticated: there is no secret, or the token is unknown, suspended, revoked or expired, its user is inactive, or it
            is of no use here: hooks need the scope 'hook', and a token with that scope alone works for hooks only.
        NotPermitted: the token is bound to a browser extension, and the request is not from it.
    """
    hint = "Send 'Authorization: Bearer loci_…'. 'loci token create' makes a token."
    if not secret:
        raise NotAuthenticated("A token is needed.", hint=hint)
    token = _TOKEN.first(hash_secret(secret))
    if token is None or not token.user.is_active:
        raise NotAuthenticated("The token is not known.", hint=hint)
    if token.state == "suspended":
        raise NotAuthenticated(
            "The token is suspended.",
            hint="A curator wants to look at what it did. Its page in the admin resumes it.",
        )
    if not token.is_valid():
        raise NotAuthenticated(
            "The token is revoked or has expired.", hint="Create a new one with 'loci token create'."
        )
    # Hooks need their scope, and that scope alone is for nothing else.
    if via == Via.HOOK and HOOK not in token.scopes:
        raise NotAuthenticated(
            "The token has no scope 'hook'.", hint="'loci connect CLIENT' makes a token for a client's hooks."
        )
    if via != Via.REST and token.origin:
        raise NotAuthenticated(
            "The token works in a browser extension only.", hint="'loci token create' makes one for programs."
        )
    if via != Via.HOOK and token.scopes == [HOOK]:
        raise NotAuthenticated(
            "The token works for hooks only.",
            hint="Create one with 'loci token create NAME --scopes read,write'.",
        )
    if token.origin and token.origin != origin:
        raise NotPermitted(
            "The token works in the browser extension that it was made for, and nowhere else.",
            hint="Pair this browser: My account shows a code.",
        )
    record_use(token)
    remember_person(secret, token.user_id)
    return actor_for_token(token, via=via, client=client)


def actor_for_token(token: ApiToken, *, via: str, client: str = "") -> Actor:
    """The Actor of a token: its scopes, limited to the current rights of its user."""
    roles, everywhere, written = *_user_reach(token.user), written_by(token.user)
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
        client=safe_label(client),
        all_groups=everywhere,
        roles=roles,
        include_global=token.include_global,
        default_group=token.default_group.slug if token.default_group else "",
        origin=token.origin,
        written=written,
        needs_latest=has_just_written(written),
    )


def actor_for_user(user: "User", *, via: str) -> Actor:
    """The Actor of a logged-in person; a superuser has every right."""
    roles, everywhere = _user_reach(user)
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
    """The Actor of whoever runs commands on the machine itself and can read the database file anyway."""
    return Actor(name="operator", via=via, scopes=ALL_SCOPES, is_person=True, all_groups=True)


def local_operator() -> Actor:
    """The operator of this machine, with the context of the command's folder, such as its repository."""
    actor = operator()
    for add in additions("local facts"):
        actor = add(actor)
    return actor


def _user_reach(user: "User") -> tuple[dict[int, str], bool]:
    """The user's roles by group key, and whether the user reaches every group as a superuser."""
    if user.is_superuser:
        return {}, True
    return dict(_ROLES.rows(user.pk)), False


def record_use(token: ApiToken) -> None:
    """Note the use of a token in memory, so that readers never wait for the write lock."""
    if token.last_used_at is None or timezone.now() - token.last_used_at > _LAST_USED_RESOLUTION:
        PENDING_TOKEN_USES[token.key] = timezone.now()
        for hook in TOKEN_USE_HOOKS:
            hook()


# Token key → time of the last use; written by flush_token_use() together with the other counters.
PENDING_TOKEN_USES: dict[int, datetime] = {}
# Called when a use is pending; the package that writes the counters adds a hook that starts its timer.
TOKEN_USE_HOOKS: list[Callable[[], None]] = []


def flush_token_use() -> int:
    """Write the pending last-used times. Returns the number of updated tokens."""
    count = 0
    for key in list(PENDING_TOKEN_USES):
        used_at = PENDING_TOKEN_USES.pop(key, None)
        if used_at:  # another process may have written a later time
            unknown_or_before = Q(last_used_at=None) | Q(last_used_at__lt=used_at)
            count += ApiToken.objects.filter(unknown_or_before, pk=key).update(last_used_at=used_at)
    return count


def grantable_scopes(actor: Actor) -> list[str]:
    """The scopes that would do something in a token of this person: those that a role of theirs allows somewhere."""
    return [
        scope
        for scope in SCOPES
        if scope in actor.scopes and (scope in (READ, CREATE_GROUP, CAPTURE) or actor.may_somewhere(scope))
    ]


def _check_within_rights(
    actor: Actor, scopes: frozenset[str], bound: list[Group], *, include_global: bool
) -> None:
    """Raise NotPermitted if a new token would have more rights than its creator."""
    if include_global and not actor.include_global:
        raise NotPermitted(
            "You may not grant global memories of other groups: they are hidden from you.",
            hint="Ask a superuser.",
        )
    if not (include_global or bound):
        raise InvalidInput(
            "A token without the global memories of other groups needs groups of its own.",
            hint="Name the groups.",
            field="groups",
        )
    beyond = sorted(scopes - actor.scopes)
    if beyond:
        raise NotPermitted(
            f"You may not grant the scope {', '.join(beyond)}: you do not have it.", hint="Ask a superuser."
        )
    outside = sorted(group.slug for group in bound if not actor.may_enter(group.key))
    if outside:
        raise NotPermitted(f"You may not grant access to {', '.join(outside)}: it is not one of your groups.")
    if actor.token_key is not None and not actor.all_groups and not bound:
        raise NotPermitted(
            "A token can create tokens only for groups that it reaches, not for all.", hint="Name the groups."
        )


def _check_default_group(actor: Actor, default: Group | None, bound: list[Group]) -> None:
    """Raise if a token's default group is not one of its groups, or not one of its creator's."""
    if default is None:
        return
    if not actor.may_enter(default.key):
        raise NotPermitted(
            f"You may not grant access to {default.slug}: it is not one of your groups.",
            hint="Name one of your groups.",
        )
    if bound and default not in bound:
        raise InvalidInput(
            f"The default group '{default.slug}' is not one of the token's groups.",
            hint="Add it to the token's groups, or choose one of them.",
            field="default_group",
        )


def _check_new_token(name: str, scopes: frozenset[str], expires_at: datetime | None) -> None:
    """Raise InvalidInput if a name, the scopes or an expiry is not allowed."""
    if not name.strip():
        raise InvalidInput(
            "A token needs a name.", hint="Name it after the agent that will use it.", field="name"
        )
    refuse_unstorable(name, field="name")
    if not name.isprintable():
        raise InvalidInput(
            "A token's name is one line of text.", hint="Leave out control characters.", field="name"
        )
    unknown = scopes - ALL_SCOPES
    if unknown or not scopes:
        allowed = ", ".join(sorted(ALL_SCOPES))
        raise InvalidInput(
            f"Unknown scope: {', '.join(sorted(unknown)) or '(none)'}.",
            hint=f"Use {allowed}.",
            field="scopes",
        )
    if expires_at is not None and expires_at <= timezone.now():
        raise InvalidInput("The expiry of the token is in the past.", field="expires_at")


def suspend_token(actor: Actor, token: ApiToken) -> ApiToken:
    """Refuse every request with the token until a person resumes it.

    Raises:
        NotPermitted: the token belongs to another user and the actor is not an admin.
        Conflict: it is suspended, revoked or expired already.
    """
    _check_may_change(actor, token, "suspend")
    rows = ApiToken.objects.filter(pk=token.pk, revoked_at=None, suspended_at=None)
    with transaction.atomic():
        if rows.update(suspended_at=timezone.now()) != 1:
            raise Conflict("That token is suspended or revoked already.")
        log_change(actor, token, {"action": "suspend", "name": token.name})
    token.refresh_from_db()
    return token


def resume_token(actor: Actor, token: ApiToken) -> ApiToken:
    """Let a suspended token work again; only a person may.

    Raises:
        NotPermitted: the actor is a token, or the token belongs to another user and the actor is not an admin.
        Conflict: it is not suspended.
    """
    _check_may_change(actor, token, "resume")
    if not actor.is_person:
        raise NotPermitted("Only a person may resume a token.", hint="Do it on the token's page.")
    with transaction.atomic():
        if ApiToken.objects.filter(pk=token.pk).exclude(suspended_at=None).update(suspended_at=None) != 1:
            raise Conflict("That token is not suspended.")
        log_change(actor, token, {"action": "resume", "name": token.name})
    token.refresh_from_db()
    return token


def _check_may_change(actor: Actor, token: ApiToken, verb: str) -> None:
    """Raise NotPermitted for another user's token, unless the actor is an admin of everything."""
    if actor.user_id != token.user_id and not actor.is_admin_of_all:
        raise NotPermitted(f"You may not {verb} another user's token.")


def log_change(actor: Actor, token: ApiToken, payload: Mapping[str, Any]) -> None:
    """Append the row of the log, inside the transaction."""
    audit.append(actor, Operation.TOKEN, subject=f"token:{token.id}", payload=payload)
