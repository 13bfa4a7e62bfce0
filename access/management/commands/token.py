"""`loci token`: make, list and revoke the tokens that agents use."""

import argparse
import json
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import CommandParser
from django.utils import timezone

from access.actor import Via
from access.connect import claude_line, client_json
from access.errors import Conflict, InvalidInput, NotFound
from access.groups import find_group
from access.management.acting import ActingCommand
from access.models import ApiToken, Group, Role
from access.tokens import NewToken, actor_for_token, create_token, operator, revoke_token

if TYPE_CHECKING:
    from django.contrib.auth.models import User

EXAMPLES: Final = """\
examples:
  loci token create laptop                                 read and write in every group of the admin
  loci token create ci --scopes read --group ledger --default-group ledger --days 30
  loci token create curator --user ann --scopes read,write,curate
  loci token list                                          who may do what where, now
  loci token revoke 0190c2a4                               the start of an id, or a name
"""


class Command(ActingCommand):
    """Parses, calls one function of access.tokens, renders."""

    help = "Make a token for an agent (its secret is shown once), list them, or revoke one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        actions = parser.add_subparsers(dest="action", required=True, metavar="create | list | revoke")
        create = actions.add_parser("create", help="make a token and show its secret once")
        create.add_argument("name", help="of the agent that will use it")
        create.add_argument("--user", help="whom it acts for; default: the first superuser")
        create.add_argument("--scopes", default="read,write", help="of read,write,curate,admin,create-group")
        create.add_argument(
            "--group", action="append", default=[], metavar="G", help="bind it to this group; again for more"
        )
        create.add_argument("--default-group", metavar="G", help="where it works when a call names no group")
        create.add_argument(
            "--days", type=int, help="how long it lives; default: the setting access.token_days"
        )
        listing = actions.add_parser("list", help="all tokens, the newest first")
        revoke = actions.add_parser("revoke", help="end a token now")
        revoke.add_argument("id", help="its id, the start of it, or its name")
        for action in (create, listing, revoke):
            action.formatter_class = argparse.RawDescriptionHelpFormatter
            action.epilog = EXAMPLES
            action.add_argument("--json", action="store_true", help="answer as JSON")

    def act(self, options: dict[str, Any]) -> str:
        act: dict[str, Callable[[dict[str, Any]], str]] = {
            "create": _create,
            "list": _list,
            "revoke": _revoke,
        }
        return act[options["action"]](options)


def _create(options: dict[str, Any]) -> str:
    actor = operator()
    groups = [find_group(actor, slug) for slug in options["group"]]
    named = options["default_group"] or (options["group"][0] if len(options["group"] or []) == 1 else None)
    default = find_group(actor, named) if named else None
    if default is not None and groups and default not in groups:
        raise InvalidInput(
            f"The token is not bound to its default group '{default.slug}'.",
            hint=f"Add --group {default.slug}.",
            field="default_group",
        )
    days = settings.LOCI.access.token_days if options["days"] is None else options["days"]
    made = create_token(
        actor,
        user=_user(options["user"]),
        name=options["name"],
        scopes=[scope.strip() for scope in options["scopes"].split(",") if scope.strip()],
        groups=groups,
        default_group=default,
        expires_at=timezone.now() + timedelta(days=days) if days else None,
    )
    return _made_json(made) if options["json"] else _made_text(made)


def _user(name: str | None) -> "User":
    users = get_user_model().objects.order_by("pk")
    user = users.filter(username=name).first() if name else users.filter(is_superuser=True).first()
    if user is None:
        known = ", ".join(users.values_list("username", flat=True)[:12])
        raise NotFound(
            f"There is no user '{name}'." if name else "There is no superuser.",
            hint=f"There are: {known}."
            if known
            else "'loci up' makes the first one, 'loci person add NAME' any other.",
            field="user",
        )
    return user


def _made_text(made: NewToken) -> str:
    token = made.token
    return "\n".join(
        [
            f"Token '{token.name}' for {token.user}: {', '.join(token.scopes)} in {_reach(token)}{_until(token)}.",
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
            "The secret is shown this once.",
        ]
    )


def _made_json(made: NewToken) -> str:
    connect = {"claude": claude_line(made.secret), "config": json.loads(client_json(made.secret))}
    return json.dumps({**_row(made.token), "secret": made.secret, "connect": connect}, ensure_ascii=False)


def _list(options: dict[str, Any]) -> str:
    tokens = ApiToken.objects.select_related("user", "default_group").prefetch_related("groups")
    if options["json"]:
        return json.dumps([_row(token) for token in tokens], ensure_ascii=False)
    lines = [
        f"{token.id}  {_state(token):<8}  {token.hint}…  {token.name} for {token.user}: "
        f"{', '.join(token.scopes)} in {_reach(token)}{_reached_text(token)}{_until(token)}{_used(token)}"
        for token in tokens
    ]
    return "\n".join(lines) or "There are no tokens. Make one: loci token create NAME"


def _revoke(options: dict[str, Any]) -> str:
    token = revoke_token(operator(), _find(options["id"]))
    return (
        json.dumps(_row(token), ensure_ascii=False)
        if options["json"]
        else f"Token '{token.name}' is revoked."
    )


def _find(text: str) -> ApiToken:
    """Give the one token that is meant; a revoked one only by its id."""
    tokens = ApiToken.objects.select_related("user", "default_group")
    wanted = text.strip().lower()
    found = [token for token in tokens if str(token.id).startswith(wanted)] if len(wanted) >= 4 else []
    found = found or [token for token in tokens if token.name == text and token.revoked_at is None]
    if len(found) > 1:
        ids = ", ".join(str(token.id) for token in found[:5])
        raise Conflict(f"'{text}' may be several tokens: {ids}.", hint="Give more of the id.", field="id")
    if not found:
        raise NotFound(f"There is no token '{text}'.", hint="'loci token list' shows them.", field="id")
    return found[0]


def _reached(token: ApiToken) -> list[dict[str, str]]:
    """Give where the token can act now and as what: its bounds, cut to what its user may there at this moment."""
    if not token.is_valid() or not token.user.is_active:
        return []
    actor = actor_for_token(token, via=Via.COMMAND)
    if actor.all_groups:
        return [{"group": "*", "role": Role.ADMIN.value}]
    slugs = dict(Group.objects.filter(key__in=actor.roles).values_list("key", "slug"))
    return sorted(
        ({"group": slugs[key], "role": str(role)} for key, role in actor.roles.items() if key in slugs),
        key=lambda reached: reached["group"],
    )


def _reached_text(token: ApiToken) -> str:
    reached = _reached(token)
    if not reached:
        return ", reaches nothing now"
    if reached[0]["group"] == "*":
        return ", reaches every group"
    return ", reaches " + ", ".join(f"{each['group']} as {each['role']}" for each in reached)


def _row(token: ApiToken) -> dict[str, Any]:
    moments = {
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "last_used_at": token.last_used_at,
    }
    return {
        "id": str(token.id),
        "name": token.name,
        "user": token.user.get_username(),
        "scopes": token.scopes,
        "groups": None if token.all_groups else [group.slug for group in token.groups.all()],
        "default_group": token.default_group.slug if token.default_group else None,
        "reaches": _reached(token),
        "state": _state(token),
        **{name: moment.isoformat() if moment else None for name, moment in moments.items()},
    }


def _state(token: ApiToken) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "valid" if token.is_valid() else "expired"


def _reach(token: ApiToken) -> str:
    return (
        "every group of its user"
        if token.all_groups
        else ", ".join(group.slug for group in token.groups.all())
    )


def _until(token: ApiToken) -> str:
    return f", until {token.expires_at:%Y-%m-%d}" if token.expires_at else ""


def _used(token: ApiToken) -> str:
    return f", used {token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at else ", never used"
