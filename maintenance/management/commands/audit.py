"""`manage.py audit`: verify the log's chains, search it, export it."""

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO
from uuid import UUID

from django.core.management.base import CommandParser
from django.db.models import Sum
from tqdm import tqdm

from access.audit.chains import HEADS, OWN, chain_labels
from access.audit.links import link_heads
from access.audit.operations import Operation
from access.audit.verify import ChainReport, find_kept_error, verify_log
from access.audit_search import LogFilter, export_log, find_log_entries, payload_changes
from access.errors import Conflict, InvalidInput, NotFound, Unavailable
from access.models import AuditEntry, AuditHead
from access.tokens import operator
from maintenance.audit_replay import PastMemory, memory_at
from memories.browse.listing import log_json, visible_versions
from memories.draft import check_choice, check_range
from memories.language.timestamps import parse_moment
from memories.management.output import FaceCommand
from memories.queries.versions import full_id, parse_id

EXAMPLES: Final = """\
examples:
  loci audit verify                                     check that every row follows the one before it in its chain
  loci audit verify --kept heads.17:5b0e…               and that the log still has the row that an earlier verify named
  loci audit show --limit 20                            the newest rows
  loci audit show --memory 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f
  loci audit show --memory 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --at 2026-03-01T12:00
  loci audit show --actor ann --operation forget --since 2026-05-01 --json
  loci audit export log.jsonl --group ledger

The exit status of verify is 1 if a chain is broken.
"""
BROKEN = 1  # exit status of verify
SHOWN = 50
MAX_SHOWN = 10_000
CELL_CHARS = 60  # of a value in a table


class Command(FaceCommand):
    """Parses, calls access.audit and maintenance.audit_replay, renders."""

    help = "Verify the audit log's chains, show its rows, or export them."
    takes_group = False
    examples = EXAMPLES

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        actions = parser.add_subparsers(dest="action", required=True, metavar="verify | show | export")
        verify = actions.add_parser("verify", help="verify every chain and the links between them")
        verify.add_argument(
            "--kept",
            metavar="ROW:HASH",
            help="a row and its hash that an earlier verify printed, kept where nobody could change it",
        )
        show = actions.add_parser("show", help="show the newest rows, or a memory at a past moment")
        export = actions.add_parser("export", help="write rows as JSON lines, oldest first")
        export.add_argument("file", type=Path, help="a new file; an existing one is never overwritten")
        for action in (show, export):
            add_filters(action)
        show.add_argument("--limit", type=int, default=SHOWN, metavar="N", help=f"maximum rows ({SHOWN})")
        show.add_argument(
            "--at", metavar="TIME", help="with --memory: the memory at this time, rebuilt from the log"
        )
        for action in (verify, show, export):
            action.add_argument("--json", action="store_true", help="answer as one JSON object")

    def act(self, options: dict[str, Any]) -> int:
        act = {"verify": self._verify, "show": self._show, "export": self._export}
        return act[options["action"]](options)

    def _verify(self, options: dict[str, Any]) -> int:
        total = AuditHead.objects.aggregate(rows=Sum("seq"))["rows"]
        with row_bar(total=total or 0) as bar:
            reports = verify_log(on_rows=bar.update)
        fault = find_kept_error(options["kept"]) if options["kept"] else ""
        is_whole, labels = all(report.is_whole for report in reports) and not fault, chain_labels()
        if is_whole:
            link_heads(operator())  # only what was found whole
        keep = to_keep() if is_whole else ""
        if options["json"]:
            chains = [
                {"name": label_of(report, labels), **dataclasses.asdict(report), "is_whole": report.is_whole}
                for report in reports
            ]
            self.print_json({"is_whole": is_whole, "chains": chains, "keep": keep, "fault": fault})
        elif reports:
            self.print_table(
                [chain_row(report, labels) for report in reports],
                header=["chain", "rows", "payloads purged", "dropped", "not linked yet", "verdict"],
            )
        else:
            self.stdout.write("The log is empty.")
        if not options["json"] and fault:
            self.stdout.write(f"NOT AS KEPT: {fault}.")
        if not options["json"] and keep:
            self.stdout.write(f"To compare with later, keep: {keep}")
        return 0 if is_whole else BROKEN

    def _show(self, options: dict[str, Any]) -> int:
        if options["at"]:
            return self._show_past(options)
        check_range(options["limit"], 1, MAX_SHOWN, field="limit")
        rows = list(find_log_entries(operator(), parse_filter(options)).order_by("-key")[: options["limit"]])
        if options["json"]:
            self.print_json({"rows": [log_json(entry) for entry in rows]})
        elif rows:
            labels = chain_labels()
            self.print_table(
                [log_row(entry, labels) for entry in rows],
                header=["chain", "row", "at", "operation", "actor", "about", "what"],
            )
        else:
            self.stdout.write("No rows match.")
        return 0

    def _show_past(self, options: dict[str, Any]) -> int:
        if not options["memory"]:
            raise InvalidInput("--at needs --memory.", hint="Give the memory's id.", field="memory")
        past = memory_at(operator(), options["memory"], parse_moment(options["at"], field="at"))
        if options["json"]:
            self.print_json(dataclasses.asdict(past))
        else:
            self.print_table(
                [[name, _cell(value)] for name, value in past.fields.items() if value not in (None, "")]
            )
            self.stdout.write(basis_text(past))
        return 0

    def _export(self, options: dict[str, Any]) -> int:
        path: Path = options["file"]
        with create_file(path) as out, row_bar() as bar:
            count = export_log(operator(), out, parse_filter(options), on_rows=bar.update)
        if options["json"]:
            self.print_json({"file": str(path), "rows": count})
        else:
            self.stdout.write(f"Exported {count:,} {'row' if count == 1 else 'rows'} to {path}.")
        return 0


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose rows of the log."""
    parser.add_argument("--memory", metavar="ID", help="rows of this memory, all its versions")
    parser.add_argument("--group", metavar="SLUG", default="", help="rows of this group")
    parser.add_argument(
        "--actor", metavar="NAME", default="", help="by this user, or by this token as user/token"
    )
    parser.add_argument(
        "--operation", metavar="WORD", default="", help=f"one of {', '.join(Operation.values)}"
    )
    parser.add_argument("--since", metavar="TIME", help="from this moment on: 2026-05-01T09:30Z")
    parser.add_argument("--until", metavar="TIME", help="before this moment")
    parser.add_argument("--run", metavar="ID", help="by this run of maintenance")


def parse_filter(options: dict[str, Any]) -> LogFilter:
    """The filter of the log from the command's options."""
    if options["operation"]:
        check_choice(options["operation"], Operation.values, field="operation")
    since, until = (
        parse_moment(options[name], field=name) if options[name] else None for name in ("since", "until")
    )
    return LogFilter(
        memories=version_ids(options["memory"]) if options["memory"] else (),
        group=options["group"],
        actor=options["actor"],
        operation=options["operation"],
        run=parse_id(options["run"], field="run") if options["run"] else None,
        since=since,
        until=until,
    )


def version_ids(id_text: str) -> tuple[UUID, ...]:
    """Ids of all versions of a memory; only the given id if it was purged, which the log still knows."""
    id_ = full_id(operator(), id_text, field="memory")
    try:
        return tuple(version.id for version in visible_versions(operator(), id_))
    except NotFound:
        return (id_,)


def label_of(report: ChainReport, labels: Mapping[str, str]) -> str:
    """A chain as people read it: the group's slug, "instance", "heads" or "legacy"; an imported one with its store's id."""
    label = labels.get(report.chain, report.chain)
    return label if report.origin == OWN else f"{report.origin} {label}"


def to_keep() -> str:
    """The last link of all chains as `verify --kept` takes it; empty if nothing is logged."""
    head = AuditHead.objects.filter(origin=OWN, chain=HEADS).first()
    return f"{HEADS}.{head.seq}:{head.hash}" if head is not None else ""


def chain_row(report: ChainReport, labels: Mapping[str, str]) -> list[str]:
    """A chain's line in the table of `verify`."""
    dropped = f"up to row {report.dropped:,}" if report.dropped else "-"
    verdict = "unbroken" if report.is_whole else f"BROKEN at row {report.broken_at:,}: {report.why}"
    unlinked = f"{report.unlinked:,}" if report.unlinked else "-"
    return [
        label_of(report, labels), f"{report.rows:,}", f"{report.purged_payloads:,}", dropped, unlinked, verdict,
    ]  # fmt: skip


def log_row(entry: AuditEntry, labels: Mapping[str, str]) -> list[str]:
    """A row's line in the table of `show`."""
    about = str(entry.memory_id or "") or entry.subject or "-"
    at = f"{entry.at:%Y-%m-%d %H:%M:%S}"
    chain = labels.get(entry.chain, entry.chain)
    return [chain, str(entry.seq), at, entry.operation, entry.actor or "-", about, payload_text(entry)]


def payload_text(entry: AuditEntry) -> str:
    """A row's payload on one line: the changed fields as "name before → after", and the reason."""
    if not hasattr(entry, "payload_row"):
        return "(dropped)" if entry.subject.startswith("after:") else "(purged)"
    payload = entry.payload_row.payload
    parts = [f"{name} {_cell(old)} → {_cell(new)}" for name, (old, new) in payload_changes(payload).items()]
    after = payload.get("after")
    if not parts and isinstance(after, dict):
        parts = [_cell(after.get("content"))]
    if not parts:
        parts = [f"{name} {_cell(value)}" for name, value in payload.items() if value and name != "reason"]
    if payload.get("reason"):
        parts.append(f"because: {_cell(payload['reason'])}")
    return "; ".join(parts) or "-"


def _cell(value: Any) -> str:
    """A value as text, cut to CELL_CHARS."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = "-" if text in ("null", "") else text
    return text if len(text) <= CELL_CHARS else f"{text[: CELL_CHARS - 1]}…"


def basis_text(past: PastMemory) -> str:
    """What a past state was rebuilt from, and which of its fields are uncertain."""
    source = (
        f"Rebuilt from {past.rows} rows of the log."
        if past.basis == "log"
        else f"The log does not reach back to its start: {past.rows} later changes were undone from its present state."
    )
    unsure = (
        f" Uncertain, because the changes of runs were destroyed: {', '.join(past.unsure)}."
        if past.unsure
        else ""
    )
    return f"As of {past.at:%Y-%m-%d %H:%M:%S} UTC. {source}{unsure}"


def row_bar(total: int | None = None) -> "tqdm[Any]":
    """A progress bar that counts rows of the log."""
    return tqdm(total=total, unit="row", file=sys.stderr, disable=None, leave=False)


@contextmanager
def create_file(path: Path) -> Iterator[TextIO]:
    """A new file, readable by its owner only; deleted if the block fails."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise Conflict(f"{path} already exists.", hint="Name a new file.", field="file") from None
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
