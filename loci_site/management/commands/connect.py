"""`loci connect`: connect an agent's client, with its tools and its hooks."""

from pathlib import Path
from typing import Any, Final

from django.conf import settings

from access.connect import base_url
from access.errors import InvalidInput, NotFound
from access.management.command import DRY_RUN, CommandAnswer, LociCommand, either, flag, many, option
from access.management.command import USER as USER_OPTION
from access.management.commands.token import find_existing, find_owner
from access.tokens import operator
from loci_site.clients.catalogue import CLIENTS, HOOK_PARTS, PROJECT, USER
from loci_site.clients.connect import (
    FileChange,
    Wish,
    apply,
    change_agents_files,
    disconnect,
    hook_settings,
    key_of,
    make_client_token,
    plan,
    revoke_client_token,
    spec_of,
    valid_token,
    write_hook_settings,
)
from loci_site.clients.files import Ledger

EXAMPLES: Final = """\
examples:
  loci connect claude-code                                 tools and hooks for this person, with a token of their own
  loci connect codex --dry-run                             what would be written
  loci connect cursor --scope project                      files of this folder, which name ${LOCI_TOKEN} and no secret
  loci connect gemini --hooks start                        only the start of sessions; 'none' for no hooks
  loci connect claude-code --place ~/code/ledger=ledger    the group of a folder, or of a repository's address
  loci connect claude-code --url https://loci.firm.example --token loci_…    a server on another machine
  loci connect --status
  loci connect claude-code --remove                        its files as they were, its token revoked

With --scope project, lines in AGENTS.md (and CLAUDE.md if it exists) name the tools, for clients without hooks.
"""
NONE: Final = "none"
_HIDDEN: Final = "loci_…"  # in place of a token that is shown


class Command(LociCommand):
    help = "Connect an agent's client: its tools, and hooks that bring memories without asking; or disconnect it."
    examples = EXAMPLES
    options = (
        option("client", nargs="?", choices=CLIENTS, help="the client; omit with --status"),
        option("--scope", choices=(USER, PROJECT), default=USER, help="whose files; default: user"),
        option("--hooks", default=",".join(HOOK_PARTS), metavar="PARTS", help="of start,prompt,capture; or none"),
        many("--place", "PLACE=GROUP", "the group of a folder or origin"),
        many("--group", "G", "bind the token to this group"),
        USER_OPTION,
        option("--url", help="address of a server on another machine; needs --token"),
        option("--token", help="a token with the scopes read, write and hook of that server"),
        DRY_RUN.but(help="show which files would change and how; write nothing"),
        either(
            flag("--status", "show what is connected"),
            flag("--remove", "take Loci out of the client's files again and revoke its token"),
        ),
    )  # fmt: skip

    def act(self, options: dict[str, Any]) -> CommandAnswer:
        ledger = Ledger(settings.LOCI.home)
        if options["status"]:
            return _show_status(ledger)
        if not options["client"]:
            raise InvalidInput(
                "No client is named.", hint=f"Name one of {', '.join(CLIENTS)}.", field="client"
            )
        lines = remove(options, ledger) if options["remove"] else connect(options, ledger)
        return CommandAnswer({"lines": lines}, "\n".join(lines))


def connect(options: dict[str, Any], ledger: Ledger) -> list[str]:
    """Plan, write unless it is only shown, and say what happened."""
    client, is_trial = options["client"], options["dry_run"]
    spec = spec_of(client, options["scope"])
    parts, places = _read_parts(options["hooks"]), read_places(options["place"])
    if bool(options["url"]) != bool(options["token"]):
        raise InvalidInput("--url and --token belong together.", field="url" if options["token"] else "token")
    if options["url"] and not options["url"].startswith(("http://", "https://")):
        raise InvalidInput("The address must begin with http:// or https://.", field="url")
    known = str(hook_settings(ledger, client).get("token", ""))
    token = known or _HIDDEN if is_trial else find_token(options, ledger)
    url = (options["url"] or base_url()).rstrip("/")
    wish = Wish(client, url, token, options["scope"], parts, home=Path.home(), project=Path.cwd())
    changes = plan(wish)
    if not is_trial:
        write_hook_settings(wish, ledger, places)
        apply(wish, ledger, changes)
    lines = [describe(change, is_trial=is_trial) for change in changes]
    if is_trial:
        lines += [f"\n{change.path}:\n\n{change.snippet.replace(token, _HIDDEN)}\n" for change in changes]
    if wish.scope == PROJECT:
        named = options["group"][0] if len(options["group"]) == 1 else ""
        lines += change_agents_files(wish.project, named, is_removed=False, dry_run=is_trial)
        lines.append("The files name the variable LOCI_TOKEN: each person sets it to a token of their own.")
    return [*lines, *filter(None, [spec.note])]


def remove(options: dict[str, Any], ledger: Ledger) -> list[str]:
    """Take Loci out of a client's files, and revoke its token with the last of them."""
    client, scope, is_trial = options["client"], options["scope"], options["dry_run"]
    if not ledger.files(key_of(client, scope)) and not hook_settings(ledger, client):
        raise NotFound(
            f"{client} is not connected.",
            hint="'loci connect --status' shows what is connected.",
            field="client",
        )
    secret = str(hook_settings(ledger, client).get("token", ""))
    changes = disconnect(client, ledger, scope=scope, dry_run=is_trial)
    lines = [_describe_undo(change, is_trial=is_trial) for change in changes]
    if scope == PROJECT:
        lines += change_agents_files(Path.cwd(), "", is_removed=True, dry_run=is_trial)
    if not is_trial and not hook_settings(ledger, client) and revoke_client_token(secret):
        lines.append("Its token is revoked.")
    return lines


def find_token(options: dict[str, Any], ledger: Ledger) -> str:
    """The secret to connect with: the one given, the client's own if it is still valid, or a new one."""
    if options["token"]:
        return str(options["token"])
    known = str(hook_settings(ledger, options["client"]).get("token", ""))
    if valid_token(known) is not None and not options["group"]:
        return known
    groups = [find_existing(operator(), slug, field="group") for slug in options["group"]]
    default = groups[0] if len(groups) == 1 else None
    return make_client_token(
        options["client"], user=find_owner(options["user"]), groups=groups, default=default
    )


def _read_parts(text: str) -> tuple[str, ...]:
    """The parts of the hooks. Raises InvalidInput for an unknown one."""
    parts = tuple(part.strip() for part in text.split(",") if part.strip() and part.strip() != NONE)
    for part in parts:
        if part not in HOOK_PARTS:
            raise InvalidInput(
                f"'{part}' is not a part of the hooks.",
                hint=f"Use {', '.join(HOOK_PARTS)} or none.",
                field="hooks",
            )
    return parts


def read_places(words: list[str]) -> dict[str, str]:
    """The groups by folder or origin. Raises InvalidInput for a word without both."""
    places = {}
    for word in words:
        place, _, group = word.rpartition("=")
        if not place or not group:
            raise InvalidInput(f"'{word}' names no place and group.", hint="Use FOLDER=GROUP.", field="place")
        find_existing(operator(), group, field="place")
        is_address = "://" in place or place.startswith("git@")
        places[place if is_address else str(Path(place).expanduser().absolute())] = group
    return places


def describe(change: FileChange, *, is_trial: bool) -> str:
    """What happens to a file, in a line; with the snippet if a person has to merge it."""
    if change.refusal:
        return f"{change.path} is left alone. {change.refusal} Merge this by hand:\n\n{change.snippet}\n"
    if not change.is_needed:
        return f"{change.path} is as it should be."
    return f"{change.path} {'would be' if is_trial else 'is'} {'changed' if change.before is not None else 'made'}."


def _describe_undo(change: FileChange, *, is_trial: bool) -> str:
    """What happens to a file when Loci is taken out, in a line."""
    if change.refusal:
        return f"{change.path} is left alone. {change.refusal} Take Loci's keys out by hand."
    if not change.is_needed:
        return f"{change.path} contains nothing of Loci's."
    done = "deleted" if change.is_deleted else "as it was before"
    return f"{change.path} {'would be' if is_trial else 'is'} {done}."


def _show_status(ledger: Ledger) -> CommandAnswer:
    known, rows = ledger.read(), []
    for client, spec in CLIENTS.items():
        files = {scope: sorted(known.get(key_of(client, scope), {})) for scope in (USER, PROJECT)}
        if not any(files.values()):
            continue
        found = hook_settings(ledger, client)
        is_own = found.get("url") == base_url()
        token = (
            ""
            if not is_own
            else "valid"
            if valid_token(str(found.get("token", "")))
            else "revoked or expired"
        )
        rows.append(
            {"client": client, "files": files, "url": found.get("url", ""), "token": token, "note": spec.note}
        )
    lines = []
    for row in rows:
        token = f", token {row['token']}" if row["token"] else ""
        lines.append(f"{row['client']}: {row['url']}{token}")
        lines += [f"  {scope}: {path}" for scope, paths in row["files"].items() for path in paths]
        lines += [f"  {row['note']}"] if row["note"] else []
    none = "No client is connected. Connect one: loci connect claude-code"
    return CommandAnswer(rows, "\n".join(lines) or none)
