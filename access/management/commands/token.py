"""`loci token`: create, list and revoke the tokens of agents."""

import json
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import UUID

from django.contrib.auth import get_user_model

from access.actor import ALL_SCOPES, CREATE_GROUP, ROLE_FOR, Actor, Via
from access.answers import Answer, ShownAs
from access.clients import CLIENTS
from access.connect import claude_line, client_json
from access.errors import Conflict, GroupNotFound, InvalidInput, NotFound
from access.groups import find_group
from access.management.command import (
    USER,
    CommandAnswer,
    CommandVerb,
    LociCommand,
    either,
    flag,
    many,
    option,
)
from access.models import ApiToken, Group, Role
from access.sign_in.users import find_person
from access.tokens import (
    NewToken,
    actor_for_token,
    create_token,
    expiry_after,
    operator,
    resume_token,
    revoke_token,
    suspend_token,
)
from access.tokens.enrolment import make_client_token

if TYPE_CHECKING:
    from django.contrib.auth.models import User

EXAMPLES: Final = """\
examples:
  loci token create laptop                                 read and write in every group of the admin
  loci token create laptop --for claude-code               exactly what this client needs, for 'loci connect --token'
  loci token create ci --scopes read --group ledger --default-group ledger --days 30
  loci token create ci --group ledger --no-global          no global memories of other groups either
  loci token create curator --user ann --scopes read,write,curate
  loci token create operator --admin                       everything, purge included; keep it from agents
  loci token list                                          with current rights
  loci token suspend laptop                                it stops working until it is resumed
  loci token resume laptop
  loci token revoke 0190c2a4                               by the start of the id or by name
"""


def create(options: dict[str, Any]) -> CommandAnswer:
    """Create a token, with the secret and the commands that connect an agent."""
    actor = operator()
    groups = [find_existing(actor, slug, field="group") for slug in options["group"]]
    named = options["default_group"] or (options["group"][0] if len(options["group"] or []) == 1 else None)
    default = find_existing(actor, named, field="default_group") if named else None
    if default is not None and groups and default not in groups:
        raise InvalidInput(
            f"The token is not bound to its default group '{default.slug}'.",
            hint=f"Add --group {default.slug}.",
            field="default_group",
        )
    scopes = ALL_SCOPES if options["admin"] else options["scopes"].split(",")
    make = (
        partial(make_client_token, client=options["for"])
        if options["for"]
        else partial(create_token, scopes=[scope.strip() for scope in scopes if scope.strip()])
    )
    made = make(
        actor,
        user=find_owner(options["user"]),
        name=options["name"],
        groups=groups,
        include_global=not options["no_global"],
        default_group=default,
        expires_at=expiry_after(options["days"]),
    )
    connect = {"claude": claude_line(made.secret), "config": json.loads(client_json(made.secret))}
    return CommandAnswer(
        {**TokenOut.json(made.token), "secret": made.secret, "connect": connect}, _new_token_text(made)
    )


def find_existing(actor: Actor, slug: str, *, field: str) -> Group:
    """The group of this name; an error that says how to create it if it does not exist."""
    try:
        return find_group(actor, slug)
    except GroupNotFound as missing:
        similar = missing.hint if missing.hint.startswith("Did you mean") else ""
        create = f"Create it first: loci group create {slug}"
        raise GroupNotFound(
            f"The group '{slug}' does not exist.", hint=f"{similar} {create}".strip(), field=field
        ) from None


def find_owner(name: str | None) -> "User":
    """The user of this name, or the first superuser if there is no name."""
    if name:
        return find_person(name)
    user = get_user_model().objects.filter(is_superuser=True).order_by("pk").first()
    if user is None:
        hint = "'loci up' creates the first one, 'loci person add NAME --superuser' any other."
        raise NotFound("There is no superuser.", hint=hint, field="user")
    return user


def _new_token_text(made: NewToken) -> str:
    """The new token with its secret and the commands that connect an agent, as text."""
    token = made.token
    return "\n".join(
        [
            f"Token '{token.name}' for {token.user}: {', '.join(token.scopes)} in {_bound_groups(token)}{_until(token)}.",
            "",
            f"  {made.secret}",
            "",
            "Connect Claude Code:",
            "",
            f"  {claude_line(made.secret)}",
            "",
            "Connect any other agent:",
            "",
            f"  {client_json(made.secret)}",
            "",
            "The secret is shown only once.",
        ]
    )


def _list_tokens(options: dict[str, Any]) -> CommandAnswer:
    """All tokens with their current rights, newest first."""
    tokens = list(ApiToken.objects.select_related("user", "default_group").prefetch_related("groups"))
    lines = [
        f"{token.id}  {token.state:<8}  {token.hint}…  {token.name} for {token.user}: "
        f"{', '.join(token.scopes)} in {_bound_groups(token)}; now {_rights_text(token)}"
        f"{_until(token)}, {f'used {token.last_used_at:%Y-%m-%d %H:%M}' if token.last_used_at else 'never used'}"
        for token in tokens
    ]
    none = "There are no tokens. Create one: loci token create NAME"
    return CommandAnswer([TokenOut.json(token) for token in tokens], "\n".join(lines) or none)


def _change_token(
    change: Callable[[Actor, ApiToken], ApiToken], done: str, options: dict[str, Any]
) -> CommandAnswer:
    """Suspend, resume or revoke one token."""
    token = change(operator(), find_token(options["id"]))
    return CommandAnswer(TokenOut.json(token), f"Token '{token.name}' {done}.")


def find_token(text: str) -> ApiToken:
    """The token with this id, start of an id (at least 4 characters) or name; revoked tokens only by id."""
    tokens = ApiToken.objects.select_related("user", "default_group")
    wanted = text.strip().lower()
    found = [token for token in tokens if str(token.id).startswith(wanted)] if len(wanted) >= 4 else []
    found = found or [token for token in tokens if token.name == text and token.revoked_at is None]
    if len(found) > 1:
        ids = ", ".join(str(token.id) for token in found[:5])
        raise Conflict(
            f"'{text}' matches several tokens: {ids}.", hint="Use more characters of the id.", field="id"
        )
    if not found:
        raise NotFound(f"There is no token '{text}'.", hint="'loci token list' shows all tokens.", field="id")
    return found[0]


def _reached_groups(token: ApiToken) -> list[dict[str, Any]]:
    """The groups that the token reaches now, with its user's role and what the token itself may do there."""
    if not token.is_valid() or not token.user.is_active:
        return []
    actor = actor_for_token(token, via=Via.COMMAND)
    if actor.all_groups:
        return [{"group": "*", "role": Role.ADMIN.value, "may": _rights_in(actor, None)}]
    slugs = dict(Group.objects.filter(key__in=actor.roles).values_list("key", "slug"))
    return sorted(
        (
            {"group": slugs[key], "role": str(role), "may": _rights_in(actor, key)}
            for key, role in actor.roles.items()
            if key in slugs
        ),
        key=lambda reached: str(reached["group"]),
    )


def _rights_in(actor: Actor, group_key: int | None) -> list[str]:
    """The rights that the actor has in a group, or in every group, lowest first."""
    return [right for right in ROLE_FOR if actor.may(right, group_key)]


def _rights_text(token: ApiToken) -> str:
    """What the token may do now, as text: its rights by group, then the right to make groups."""
    places: dict[str, list[str]] = {}
    for reached in _reached_groups(token):
        where = "every group" if reached["group"] == "*" else str(reached["group"])
        places.setdefault(", ".join(reached["may"]) or "nothing", []).append(where)
    parts = [f"{rights} in {', '.join(groups)}" for rights, groups in places.items()]
    if CREATE_GROUP in token.scopes and token.is_valid() and token.user.is_active:
        parts.append("can make groups")
    return "; ".join(parts) or "nothing"


class TokenOut(Answer):
    """A token with what it reaches now; `groups` is null if it is bound to none."""

    id: UUID
    name: str
    user: Annotated[str, ShownAs("user.username")]
    scopes: list[str]
    groups: Annotated[
        list[str] | None,
        ShownAs(lambda token, _: None if token.all_groups else [group.slug for group in token.groups.all()]),
    ]
    include_global: bool
    default_group: Annotated[str | None, ShownAs("default_group.slug")]
    reaches: Annotated[list[dict[str, Any]], ShownAs(lambda token, _: _reached_groups(token))]
    state: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None


def _bound_groups(token: ApiToken) -> str:
    if token.all_groups:
        return "every group of its user"
    groups = ", ".join(group.slug for group in token.groups.all())
    return groups if token.include_global else f"{groups} alone, without global memories of other groups"


def _until(token: ApiToken) -> str:
    return f", until {token.expires_at:%Y-%m-%d}" if token.expires_at else ""


# Of a new token.
GROUPS: Final = (
    many("--group", "G", "bind the token to this group"),
    flag("--no-global", "with --group: hide global memories of other groups from the token"),
)
ID: Final = option("id", help="the id of the token, its start, or its name")


class Command(LociCommand):
    """Verbs of access.tokens."""

    help = "Create a token for an agent (its secret is shown once), list all tokens, suspend or revoke one."
    examples = EXAMPLES
    verbs = {
        "create": CommandVerb(
            create, "create a token and show its secret once",
            (option("name", help="name of the agent that will use the token"), USER,
             either(
                 option("--scopes", default="read,write",
                        help="comma-separated: read,write,curate,admin,create-group,hook"),
                 option("--for", choices=CLIENTS, metavar="CLIENT", help="the scopes that this client needs"),
                 flag("--admin", "every scope, purge included: for an operator, not for an agent"),
             ),
             *GROUPS,
             option("--default-group", metavar="G", help="used if a call names no group"),
             option("--days", type=int, help="lifetime; default: the setting access.token_days")),
        ),
        "list": CommandVerb(_list_tokens, "list all tokens, newest first"),
        "suspend": CommandVerb(
            partial(_change_token, suspend_token, "is suspended"), "refuse a token until it is resumed", (ID,)
        ),
        "resume": CommandVerb(
            partial(_change_token, resume_token, "works again"), "let a suspended token work again", (ID,)
        ),
        "revoke": CommandVerb(partial(_change_token, revoke_token, "is revoked"), "revoke a token now", (ID,)),
    }  # fmt: skip
