"""`manage.py audit`: prove the log whole, look into it, write it out."""

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO
from uuid import UUID

from django.core.management.base import CommandParser
from tqdm import tqdm

from access.audit import OWN, ChainReport, chain_names, verify_chain
from access.audit.operations import Operation
from access.audit_search import LogFilter, export_log, find_log_entries, payload_changes
from access.errors import Conflict, InvalidInput, NotFound, Unavailable
from access.models import AuditEntry, AuditHead
from access.tokens import operator
from maintenance.audit_replay import PastMemory, memory_at
from memories.browse.listing import log_json, visible_versions
from memories.draft import check_choice, check_range
from memories.language.timestamps import parse_moment
from memories.management.output import FaceCommand
from memories.queries.versions import parse_id

EXAMPLES: Final = """\
examples:
  manage.py audit verify                                     every row follows the one before it
  manage.py audit show --limit 20                            what was done last
  manage.py audit show --memory 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f
  manage.py audit show --memory 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --at 2026-03-01T12:00
  manage.py audit show --actor ann --operation forget --since 2026-05-01 --json
  manage.py audit export log.jsonl --group ledger

The status of verify is 1 where a chain is broken.
"""
BROKEN = 1  # exit status of verify
SHOWN = 50
MAX_SHOWN = 10_000
CELL_CHARS = 60  # of a value in a table


class Command(FaceCommand):
    """Parses, calls access.audit and maintenance.audit_replay, renders."""

    help = "The audit log: verify its chains, show what was done, export it."
    takes_group = False
    examples = EXAMPLES

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        actions = parser.add_subparsers(dest="action", required=True, metavar="verify | show | export")
        verify = actions.add_parser("verify", help="walk every chain, this store's own and imported ones")
        show = actions.add_parser("show", help="the newest rows, or a memory at a past moment")
        export = actions.add_parser("export", help="write rows as JSON lines, oldest first")
        export.add_argument("file", type=Path, help="a new file; one that is there is never overwritten")
        for action in (show, export):
            _add_filters(action)
        show.add_argument("--limit", type=int, default=SHOWN, metavar="N", help=f"rows at most ({SHOWN})")
        show.add_argument(
            "--at", metavar="TIME", help="with --memory: how it stood then, rebuilt from the log"
        )
        for action in (verify, show, export):
            action.add_argument("--json", action="store_true", help="answer as one JSON object")

    def act(self, options: dict[str, Any]) -> int:
        act = {"verify": self._verify, "show": self._show, "export": self._export}
        return act[options["action"]](options)

    def _verify(self, options: dict[str, Any]) -> int:
        heads = dict(AuditHead.objects.values_list("origin", "seq"))
        with _bar(total=sum(heads.values())) as bar:
            reports = [verify_chain(name, on_rows=bar.update) for name in chain_names()]
        if options["json"]:
            said = [{**dataclasses.asdict(report), "is_whole": report.is_whole} for report in reports]
            self.print_json({"is_whole": all(report.is_whole for report in reports), "chains": said})
        elif reports:
            self.print_table(
                [_chain_row(report) for report in reports],
                header=["chain", "rows", "payloads purged", "dropped", "verdict"],
            )
        else:
            self.stdout.write("The log is empty.")
        return 0 if all(report.is_whole for report in reports) else BROKEN

    def _show(self, options: dict[str, Any]) -> int:
        if options["at"]:
            return self._show_then(options)
        check_range(options["limit"], 1, MAX_SHOWN, field="limit")
        rows = list(find_log_entries(operator(), _sought(options)).order_by("-seq")[: options["limit"]])
        if options["json"]:
            self.print_json({"rows": [log_json(entry) for entry in rows]})
        elif rows:
            self.print_table(
                [_log_row(entry) for entry in rows],
                header=["row", "at", "operation", "actor", "about", "what"],
            )
        else:
            self.stdout.write("No row of the log fits.")
        return 0

    def _show_then(self, options: dict[str, Any]) -> int:
        if not options["memory"]:
            raise InvalidInput("--at needs --memory.", hint="Name the memory by its id.", field="memory")
        told = memory_at(operator(), options["memory"], parse_moment(options["at"], field="at"))
        if options["json"]:
            self.print_json(dataclasses.asdict(told))
        else:
            self.print_table(
                [[name, _shown(value)] for name, value in told.fields.items() if value not in (None, "")]
            )
            self.stdout.write(_basis(told))
        return 0

    def _export(self, options: dict[str, Any]) -> int:
        path: Path = options["file"]
        with _new_file(path) as out, _bar() as bar:
            count = export_log(operator(), out, _sought(options), on_rows=bar.update)
        if options["json"]:
            self.print_json({"file": str(path), "rows": count})
        else:
            self.stdout.write(f"{count:,} {'row is' if count == 1 else 'rows are'} in {path}.")
        return 0


def _add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--memory", metavar="ID", help="of this memory, all its versions")
    parser.add_argument("--group", metavar="SLUG", default="", help="of this group")
    parser.add_argument(
        "--actor", metavar="NAME", default="", help="by this user, or this token as user/token"
    )
    parser.add_argument(
        "--operation", metavar="WORD", default="", help=f"one of {', '.join(Operation.values)}"
    )
    parser.add_argument("--since", metavar="TIME", help="from this moment on: 2026-05-01T09:30Z")
    parser.add_argument("--until", metavar="TIME", help="before this moment")
    parser.add_argument("--run", metavar="ID", help="by this run of maintenance")


def _sought(options: dict[str, Any]) -> LogFilter:
    if options["operation"]:
        check_choice(options["operation"], Operation.values, field="operation")
    since, until = (
        parse_moment(options[name], field=name) if options[name] else None for name in ("since", "until")
    )
    return LogFilter(
        memories=_versions(options["memory"]) if options["memory"] else (),
        group=options["group"],
        actor=options["actor"],
        operation=options["operation"],
        run=parse_id(options["run"], field="run") if options["run"] else None,
        since=since,
        until=until,
    )


def _versions(said: str) -> tuple[UUID, ...]:
    """Give the ids of all versions; of what was purged the log still knows the one that is named."""
    id_ = parse_id(said, field="memory")
    try:
        return tuple(version.id for version in visible_versions(operator(), id_))
    except NotFound:
        return (id_,)


def _chain_row(report: ChainReport) -> list[str]:
    name = "own" if report.origin == OWN else report.origin
    dropped = f"up to row {report.dropped:,}" if report.dropped else "-"
    verdict = "whole" if report.is_whole else f"BROKEN at row {report.broken_at:,}: {report.why}"
    return [name, f"{report.rows:,}", f"{report.purged_payloads:,}", dropped, verdict]


def _log_row(entry: AuditEntry) -> list[str]:
    about = str(entry.memory_id or "") or entry.subject or "-"
    at = f"{entry.at:%Y-%m-%d %H:%M:%S}"
    return [str(entry.seq), at, entry.operation, entry.actor or "-", about, _what(entry)]


def _what(entry: AuditEntry) -> str:
    """Give what a row says on one line: field before → after, and why."""
    if not hasattr(entry, "payload_row"):
        return "(dropped)" if entry.subject.startswith("after:") else "(purged)"
    said = entry.payload_row.payload
    parts = [f"{name} {_shown(old)} → {_shown(new)}" for name, (old, new) in payload_changes(said).items()]
    after = said.get("after")
    if not parts and isinstance(after, dict):
        parts = [_shown(after.get("content"))]
    if not parts:
        parts = [f"{name} {_shown(value)}" for name, value in said.items() if value and name != "reason"]
    if said.get("reason"):
        parts.append(f"because: {_shown(said['reason'])}")
    return "; ".join(parts) or "-"


def _shown(value: Any) -> str:
    """Give a value in a few words."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = "-" if text in ("null", "") else text
    return text if len(text) <= CELL_CHARS else f"{text[: CELL_CHARS - 1]}…"


def _basis(told: PastMemory) -> str:
    source = (
        f"Rebuilt from {told.rows} rows of the log."
        if told.basis == "log"
        else f"Its beginning is not in the log: {told.rows} later changes were taken back from the memory as it is now."
    )
    unsure = f" Not sure: {', '.join(told.unsure)}, since what runs kept is destroyed." if told.unsure else ""
    return f"As it stood at {told.at:%Y-%m-%d %H:%M:%S} UTC. {source}{unsure}"


def _bar(total: int | None = None) -> "tqdm[Any]":
    return tqdm(total=total, unit="row", file=sys.stderr, disable=None, leave=False)


@contextmanager
def _new_file(path: Path) -> Iterator[TextIO]:
    """Give a new file, readable by its owner alone, that is gone again where writing it failed."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise Conflict(f"{path} is there already.", hint="Name a new file.", field="file") from None
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}.", field="file") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
