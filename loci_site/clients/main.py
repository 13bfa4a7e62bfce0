"""`connect` for a machine with this Loci's store, and for one with nothing but the client and Python: the same words and texts.

Nothing is written before the server has said who the token is and what it may.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from access.clients import CLIENTS, HOOK_PARTS, PROJECT, USER, ClientSpec
from access.errors import InvalidInput, LociError, NotFound, NotPermitted
from loci_site.clients.connect import (
    FileChange,
    Wish,
    apply,
    change_agents_files,
    disconnect,
    hook_settings,
    key_of,
    plan,
    spec_of,
    write_hook_settings,
)
from loci_site.clients.files import Ledger
from loci_site.clients.merging import NotMergeable
from loci_site.clients.program import PROGRAM
from loci_site.clients.server import ask_server, captured_at, checked_token, exchange_code, revoke_at
from loci_site.hooks.client import place_of
from loci_site.hooks.shown import captured_lines
from storage.version import __version__

_NONE: Final = "none"
_HIDDEN: Final = "loci_…"  # in place of a token that is shown
_NOT_CONNECTED: Final = "No client is connected. Connect one: loci connect claude-code"
_STILL: Final = "may still work: revoke it in My account."
Words = tuple[tuple[str, ...], dict[str, Any]]
# Argparse's names and keywords.
OPTIONS: Final[tuple[Words, ...]] = (
    (("client",), {"nargs": "?", "choices": CLIENTS, "help": "the client; omit with --status and --captured"}),
    (("--scope",), {"choices": (USER, PROJECT), "default": USER, "help": "whose files; default: user"}),
    (("--hooks",), {"default": ",".join(HOOK_PARTS), "metavar": "PARTS", "help": "of start,prompt,capture; or none"}),
    (("--place",), {"action": "append", "default": [], "metavar": "PLACE=GROUP", "help": "the group of a folder or origin; repeat for more"}),
    (("--url",), {"help": "address of a server on another machine; needs --code or --token"}),
    (("--code",), {"help": "the one-time code of the page My account, Connect your client"}),
    (("--token",), {"help": "a token of that server, made for this client"}),
    (("--dry-run",), {"action": "store_true", "help": "show which files would change and how; write nothing"}),
)  # fmt: skip
EITHER: Final[tuple[Words, ...]] = (
    (("--status",), {"action": "store_true", "help": "show what is connected, and ask the server about each token"}),
    (("--captured",), {"action": "store_true", "help": "show what hooks captured with your tokens, and what became of it"}),
    (("--undo",), {"metavar": "ID", "help": "forget this capture, by the id that --captured shows"}),
    (("--remove",), {"action": "store_true", "help": "take Loci out of the client's files again"}),
)  # fmt: skip


@dataclass(frozen=True)
class OwnStore:
    """What the store of this machine does for a connection without --url; a machine with a client alone has none."""

    url: str
    find_token: Callable[[], str]
    check: Callable[[str, dict[str, Any]], dict[str, Any]]  # as `ask_server`, for a token and a place


def connect(
    options: dict[str, Any],
    ledger: Ledger,
    own: OwnStore | None = None,
    revoke: Callable[[str, str], bool] = revoke_at,
) -> list[str]:
    """Ask the server, plan the files and write them, except with --dry-run."""
    client, is_trial = options["client"], options["dry_run"]
    spec, parts, notes = _choose(options)
    places, url = read_places(options["place"]), _read_url(options, own)
    former = hook_settings(ledger, client)
    known = str(former.get("token", ""))
    wish = Wish(
        client, url, known or _HIDDEN, options["scope"], parts, Path.home(), Path.cwd(), ledger.folder
    )
    changes = plan(wish)
    if is_trial:
        lines = [_describe(change, is_trial=True) for change in changes]
        shown = [change.snippet.replace(wish.token, _HIDDEN) for change in changes]
        lines += [f"\n{change.path}:\n\n{text}\n" for change, text in zip(changes, shown, strict=True)]
        return [*lines, *_agents_lines(options), *notes]
    if not changes:
        raise InvalidInput(" ".join([f"{spec.title} has nothing but hooks here.", *notes]), field="hooks")
    if all(change.refusal for change in changes):
        by_hand = "\n".join(_describe(change, is_trial=False) for change in changes)
        hint = f"No token was made: 'loci token create --for {client}' makes one."
        raise NotMergeable(by_hand.replace(wish.token, _HIDDEN), hint=hint)
    if own:
        token = own.find_token()
    else:
        token = checked_token(options["token"]) if options["token"] else exchange_code(url, options["code"])
    try:
        place = {"cwd": str(Path.cwd()), "loci": place_of(str(Path.cwd()), {"places": places})}
        told = own.check(token, place) if own else ask_server(url, token, place)
        _check_rights(told, spec, parts, places)
    except LociError as error:
        if token not in (known, options["token"]) and not revoke(url, token):
            error.hint = f"{error.hint} The token that was made {_STILL}"
        raise
    wish = replace(wish, token=token)
    changes = plan(wish)
    write_hook_settings(wish, ledger, places)
    apply(wish, ledger, changes)
    lines = [_describe(change, is_trial=False) for change in changes]
    lines += [*_agents_lines(options), *_explain(wish, spec, told), *notes]
    return lines + _end_token("The former", former, ledger, revoke)


def _end_token(
    which: str, former: dict[str, Any], ledger: Ledger, revoke: Callable[[str, str], bool]
) -> list[str]:
    """Revoke the token of former hook settings, unless a connection still uses it; a line says what became of it."""
    url, token = str(former.get("url", "")), str(former.get("token", ""))
    files = [
        *ledger.folder.glob("*.json"),
        *(Path(name) for noted in ledger.read().values() for name in noted),
    ]
    if not token or any(token.encode() in file.read_bytes() for file in files if file.exists()):
        return []
    return [f"{which} token is revoked." if revoke(url, token) else f"{which} token {_STILL}"]


def _choose(options: dict[str, Any]) -> tuple[ClientSpec, tuple[str, ...], list[str]]:
    """The client, the parts of its hooks, and notes; a project's hooks need a program on the PATH, as its files are shared."""
    spec, parts = spec_of(options["client"], options["scope"]), _read_parts(options["hooks"])
    notes = [spec.note] if spec.note else []
    if options["scope"] == PROJECT and spec.has_hooks and parts and not shutil.which(PROGRAM):
        parts, notes = (
            (),
            [*notes, f"Its hooks are left out: there is no program {PROGRAM} here. Loci brings it."],
        )
    return spec, parts, notes


def _agents_lines(options: dict[str, Any]) -> list[str]:
    """What becomes of the lines in a project's AGENTS.md."""
    if options["scope"] != PROJECT:
        return []
    groups = options.get("group") or []
    named = groups[0] if len(groups) == 1 else ""
    done = change_agents_files(Path.cwd(), named, is_removed=False, dry_run=options["dry_run"])
    return [*done, "The files name the variable LOCI_TOKEN: each person sets it to a token of their own."]


def _check_rights(
    told: dict[str, Any], spec: ClientSpec, parts: tuple[str, ...], places: dict[str, str]
) -> None:
    """Raise if the token cannot do what the client will ask of it, or does not reach a named group."""
    needed = spec.scopes if parts else tuple(scope for scope in spec.scopes if scope != "hook")
    if missing := [scope for scope in needed if scope not in told["scopes"]]:
        raise NotPermitted(
            f"The token lacks the scope {', '.join(missing)}, without which {spec.title} gets nothing.",
            hint="Take the line of the page My account, Connect your client, or use 'loci token create --for CLIENT'.",
        )
    if foreign := [group for group in places.values() if group not in told["groups"]]:
        raise NotFound(
            f"The token reaches no group '{foreign[0]}'.",
            hint=f"Its groups: {', '.join(told['groups'])}.",
            field="place",
        )


def _explain(wish: Wish, spec: ClientSpec, told: dict[str, Any]) -> list[str]:
    """Whom the server took the token for, and what comes and goes from now on."""
    where = f" in the group '{told['group']}'" if told["group"] else ""
    where += "" if told["include_global"] else ", without global memories of other groups"
    lines = [f"\n{spec.title} is connected to Loci {told['version']} at {wish.url} as {told['user']}{where}."]
    if spec.has_hooks and wish.parts:
        example = f" Now, for example: “{told['example']}”" if told["example"] else ""
        lines += [
            f"Injected: what a session starts with, and the facts that a prompt is about.{example}",
            "Captured: what you ask to be remembered, rules, decisions, and commits; each waits for a person.",
            f"To see it: {wish.url}/admin/memories/memory/?mine=1, or --captured; --undo ID forgets one.",
            f"To stop it: #skip in a prompt, a file .loci-ignore in a folder, LOCI_HOOKS=off; or {wish.client} --remove.",
            "Put these options after 'loci connect', or replace the client and the code of the pasted line with them.",
        ]
    return [*lines, f"Restart {spec.title}: it reads its files when it starts."]


def remove(
    options: dict[str, Any], ledger: Ledger, revoke: Callable[[str, str], bool] = revoke_at
) -> list[str]:
    """Take Loci out of a client's files, and revoke the token with the last of them."""
    client, scope, is_trial = options["client"], options["scope"], options["dry_run"]
    former = hook_settings(ledger, client)
    if not ledger.files(key_of(client, scope)) and not former:
        raise NotFound(
            f"{client} is not connected.",
            hint="'connect --status' shows what is connected.",
            field="client",
        )
    lines = [
        _describe_undo(change, is_trial=is_trial)
        for change in disconnect(client, ledger, scope=scope, dry_run=is_trial)
    ]
    if scope == PROJECT:
        lines += change_agents_files(Path.cwd(), "", is_removed=True, dry_run=is_trial)
    return lines if is_trial else lines + _end_token("Its", former, ledger, revoke)


def show_status(ledger: Ledger) -> tuple[list[dict[str, Any]], str]:
    """What is connected, and what the servers say of the tokens: rows, and the same as text."""
    known, rows, lines = ledger.read(), [], []
    for client, spec in CLIENTS.items():
        files = {scope: sorted(known.get(key_of(client, scope), {})) for scope in (USER, PROJECT)}
        if not any(files.values()):
            continue
        found = hook_settings(ledger, client)
        url, token = str(found.get("url", "")), str(found.get("token", ""))
        rows.append(
            {
                "client": client,
                "files": files,
                "url": url,
                "token": _try_token(url, token, spec, tuple(found.get("parts", HOOK_PARTS))),
                "note": spec.note,
            }
        )
        lines.append(f"{client}: {url}, token {rows[-1]['token']}")
        lines += [f"  {scope}: {path}" for scope, paths in files.items() for path in paths]
        lines += [f"  {spec.note}"] if spec.note else []
    return rows, "\n".join(lines) or _NOT_CONNECTED


def show_captured(ledger: Ledger, options: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """What hooks captured with the tokens here: rows, and the same as text; first the one that --undo names is forgotten.

    Raises:
        InvalidInput: --dry-run with --undo.
    """
    if options["undo"] and options["dry_run"]:
        raise InvalidInput("--dry-run is for connecting and --remove, not for --undo.", field="dry_run")
    found = [hook_settings(ledger, client) for client in CLIENTS if options["client"] in (None, client)]
    # A token shows all of its person's: one for each server is enough.
    tokens = {str(each["url"]): str(each["token"]) for each in found if each}
    rows = [row for url, token in tokens.items() for row in captured_at(url, token, options["undo"] or "")]
    return rows, captured_lines(rows) if tokens else _NOT_CONNECTED


def _try_token(url: str, token: str, spec: ClientSpec, parts: tuple[str, ...]) -> str:
    """ "valid", or why the token is of no use."""
    try:
        _check_rights(ask_server(url, token, {}), spec, parts, {})
    except LociError as error:
        return str(error)
    return "valid"


def check_words(options: dict[str, Any]) -> None:
    """Raise InvalidInput if no client is named."""
    if not options["client"]:
        raise InvalidInput("No client is named.", hint=f"Name one of {', '.join(CLIENTS)}.", field="client")


def _read_url(options: dict[str, Any], own: OwnStore | None) -> str:
    """The address without a last slash. Raises InvalidInput if it and what proves who asks do not fit."""
    proofs = [name for name in ("code", "token") if options[name]]
    if len(proofs) > 1 or bool(proofs) != bool(options["url"]) or (own is None and not proofs):
        raise InvalidInput(
            "--url and one of --code and --token belong together.", field=proofs[0] if proofs else "url"
        )
    url = str(options["url"] or (own.url if own else "")).rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise InvalidInput("The address must begin with http:// or https://.", field="url")
    return url


def _read_parts(text: str) -> tuple[str, ...]:
    """The parts of the hooks. Raises InvalidInput for an unknown one."""
    parts = tuple(part.strip() for part in text.split(",") if part.strip() and part.strip() != _NONE)
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
        is_address = "://" in place or place.startswith("git@")
        places[place if is_address else str(Path(place).expanduser().absolute())] = group
    return places


def _describe(change: FileChange, *, is_trial: bool) -> str:
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


def main() -> None:
    """`loci-client connect …` of the file that a server offers; exit status 1 with one sentence if it cannot."""
    parser = argparse.ArgumentParser(prog="loci-client", description="Connect an agent's client to a Loci.")
    parser.add_argument("--version", action="version", version=f"Loci {__version__}")
    verb = parser.add_subparsers(required=True).add_parser(
        "connect", help="connect a client, or disconnect it"
    )
    for names, how in OPTIONS:
        verb.add_argument(*names, **how)
    group = verb.add_mutually_exclusive_group()
    for names, how in EITHER:
        group.add_argument(*names, **how)
    options = vars(parser.parse_args())
    home = os.environ.get("LOCI_HOME", "").strip()
    ledger = Ledger(Path(home).absolute() if home else Path.home() / ".loci")
    try:
        if options["status"]:
            lines = [show_status(ledger)[1]]
        elif options["captured"] or options["undo"]:
            lines = [show_captured(ledger, options)[1]]
        else:
            check_words(options)
            lines = remove(options, ledger) if options["remove"] else connect(options, ledger)
    except LociError as error:
        sys.exit(str(error))
    print("\n".join(lines))  # noqa: T201 - a program
