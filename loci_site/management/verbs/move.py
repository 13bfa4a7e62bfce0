"""`loci store move`: copy the store into another database, compare the two, and say how to switch."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings

from access.errors import InvalidInput
from access.management.command import DRY_RUN, CommandAnswer, CommandVerb, option
from access.tokens import operator
from loci_site.config import DATABASE_SCHEMES
from loci_site.config.databases import postgresql_settings, sqlite_settings
from maintenance.backups.moving import MANY_GLOBAL, MoveResult, Target, move_store, preview_move
from maintenance.management.progress import StepBar
from memories.language.cleaning import format_count
from memories.management.output import in_lines


def move(options: dict[str, Any]) -> CommandAnswer:
    """Move the store, or say what would be moved."""
    target = read_target(options["to"])
    if options["dry_run"]:
        result = preview_move(operator(), target)
    else:
        with StepBar("move") as bar:
            result = move_store(operator(), target, report=bar.show)
    return CommandAnswer(asdict(result), result_text(result, target, is_dry=options["dry_run"]))


def result_text(result: MoveResult, target: Target, *, is_dry: bool) -> str:
    """The result, how to switch, and the way back."""
    rows = f"{format_count(result.rows, 'row')} of {result.tables} tables"
    again = ", where an earlier move ended" if result.is_resumed else ""
    done = (
        f"Copied {rows} to {target.name}; every row is the same, and the doctor finds nothing wrong.",
        f"Answers to {result.questions} questions: {result.overlap:.0%} of their memories are the same.",
        f"A backup of the store as it was: {result.backup}" if result.backup else "",
        f"To use it: {_switch_line(target)}. To go back: undo that; this store was not changed.",
        "The keys stay in LOCI_HOME; another machine needs its keys/ and secret files too.",
    )
    many = (
        f"{result.global_memories} memories are global, and every group's recall reads them: "
        "'loci group narrow' moves a group's out of the others' way."
    )
    would = f"Would copy {rows} to {target.name}{again}. Nothing was changed."
    return in_lines(*((would,) if is_dry else done), many if result.global_memories > MANY_GLOBAL else "")


def _switch_line(target: Target) -> str:
    [name] = [name for name, value in target.environment.items() if value]
    return f"set {name} to {target.name}" + ("" if name == "DATABASE_URL" else ", and unset DATABASE_URL")


def read_target(text: str) -> Target:
    """The target that `--to` names.

    Raises InvalidInput if it is neither an address of PostgreSQL nor the path of a file in an existing folder.
    """
    scheme, separator, _ = text.partition("://")
    if separator and scheme not in DATABASE_SCHEMES:
        raise InvalidInput(
            f"{scheme}:// is not a database that Loci knows.",
            hint="Use postgresql://user@host:port/name, or the path of a file.", field="to",
        )  # fmt: skip
    if separator:
        return Target(_without_password(text), postgresql_settings(text), {"DATABASE_URL": text})
    path = Path(text).expanduser().absolute()
    if path.is_dir() or not path.parent.is_dir():
        raise InvalidInput(
            f"{path} is a folder, or its folder does not exist.",
            hint="Name a new file in an existing folder.",
            field="to",
        )
    if not settings.LOCI.database_url:
        raise InvalidInput(
            "The store is a file already.", hint="Use 'loci backup' for a copy of it.", field="to"
        )
    file = sqlite_settings(path, storage=settings.LOCI.storage)
    return Target(str(path), file, {"DATABASE_URL": "", "LOCI_STORAGE_DATABASE": str(path)})


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    if parts.password is None:
        return url
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{parts.username}@{place}"))


MOVE: Final = CommandVerb(
    move,
    "move it between SQLite and PostgreSQL: same ids, texts, vectors, log and tombstones, verified",
    (
        option("--to", required=True, metavar="DATABASE", help="postgresql://…, or the path of a new file"),
        DRY_RUN,
    ),
)
