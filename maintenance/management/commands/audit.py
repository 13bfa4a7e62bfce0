"""`manage.py audit`: verify the log's chains, search it, export it."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO
from uuid import UUID

from django.db.models import Sum
from tqdm import tqdm

from access.audit import HEADS, OWN, chain_labels
from access.audit.operations import Operation
from access.audit.retention import link_heads
from access.audit.verify import ChainReport, find_kept_error, verify_log
from access.audit_search import LogFilter, export_log, find_log_entries, payload_changes
from access.errors import Conflict, InvalidInput, NotFound, Unavailable
from access.management.command import GROUP, LIMIT, CommandAnswer, CommandVerb, option
from access.models import AuditEntry, AuditHead
from access.tokens import operator
from maintenance.audit_replay import memory_at
from memories.browse.listing import LogRowOut
from memories.draft import check_choice, check_range
from memories.entities.statements import visible_versions
from memories.language.cleaning import parse_moment
from memories.management.field_options import SINCE, UNTIL
from memories.management.output import FaceCommand, in_lines, table_text
from memories.queries.versions import find_memory, full_id, parse_id

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
_CHAINS: Final = ("chain", "rows", "payloads purged", "dropped", "not linked yet", "verdict")
ROWS: Final = ("chain", "row", "at", "operation", "actor", "about", "what")
_CELL_CHARS = 60  # of a value in a table


def verify(options: dict[str, Any]) -> CommandAnswer:
    """Verify every chain and the links between them."""
    total = AuditHead.objects.aggregate(rows=Sum("seq"))["rows"]
    with _row_bar(total=total or 0) as bar:
        reports = verify_log(on_rows=bar.update)
    fault = find_kept_error(options["kept"]) if options["kept"] else ""
    is_whole, labels = all(report.is_whole for report in reports) and not fault, chain_labels()
    if is_whole:
        link_heads(operator())  # only what was found whole
    keep = _to_keep() if is_whole else ""
    chains = [
        {"name": label_of(report, labels), **vars(report), "is_whole": report.is_whole} for report in reports
    ]
    text = in_lines(
        table_text([_chain_row(report, labels) for report in reports], header=_CHAINS)
        if reports
        else "The log is empty.",
        f"NOT AS KEPT: {fault}." if fault else "",
        f"To compare with later, keep: {keep}" if keep else "",
    )
    body = {"is_whole": is_whole, "chains": chains, "keep": keep, "fault": fault}
    return CommandAnswer(body, text, status=0 if is_whole else BROKEN)


def show(options: dict[str, Any]) -> CommandAnswer:
    """The newest rows, or a memory at a past moment."""
    if options["at"]:
        return _show_past(options)
    check_range(options["limit"], 1, MAX_SHOWN, field="limit")
    rows = list(find_log_entries(operator(), _parse_filter(options)).order_by("-key")[: options["limit"]])
    labels = chain_labels()
    table = table_text([_log_row(entry, labels) for entry in rows], header=ROWS)
    return CommandAnswer(
        {"rows": [LogRowOut.json(entry) for entry in rows]}, table if rows else "No rows match."
    )


def _show_past(options: dict[str, Any]) -> CommandAnswer:
    if not options["memory"]:
        raise InvalidInput("--at needs --memory.", hint="Pass the memory's id.", field="memory")
    past = memory_at(operator(), options["memory"], options["at"])
    rows = [[name, _cell(value)] for name, value in past.fields.items() if value not in (None, "")]
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
    return CommandAnswer(
        past, in_lines(table_text(rows), f"As of {past.at:%Y-%m-%d %H:%M:%S} UTC. {source}{unsure}")
    )


def export(options: dict[str, Any]) -> CommandAnswer:
    """Write rows as JSON lines, oldest first."""
    path: Path = options["file"]
    with _create_file(path) as out, _row_bar() as bar:
        count = export_log(operator(), out, _parse_filter(options), on_rows=bar.update)
    text = f"Exported {count:,} {'row' if count == 1 else 'rows'} to {path}."
    return CommandAnswer({"file": str(path), "rows": count}, text)


def _parse_filter(options: dict[str, Any]) -> LogFilter:
    if options["operation"]:
        check_choice(options["operation"], Operation.values, field="operation")
    return LogFilter(
        memories=_version_ids(options["memory"]) if options["memory"] else (),
        group=options["group"],
        actor=options["actor"],
        operation=options["operation"],
        run=parse_id(options["run"], field="run") if options["run"] else None,
        since=options["since"],
        until=options["until"],
    )


def _version_ids(id_text: str) -> tuple[UUID, ...]:
    """Ids of all versions of a memory; only the given id if it was purged, which the log still knows."""
    id_ = full_id(operator(), id_text, field="memory")
    try:
        return tuple(version.id for version in visible_versions(operator(), find_memory(operator(), id_)))
    except NotFound:
        return (id_,)


def label_of(report: ChainReport, labels: Mapping[str, str]) -> str:
    """A chain as people read it: the group's slug, "instance", "heads" or "legacy"; an imported one with its store's id."""
    label = labels.get(report.chain, report.chain)
    return label if report.origin == OWN else f"{report.origin} {label}"


def _to_keep() -> str:
    """The last link of all chains as `verify --kept` takes it; empty if nothing is logged."""
    head = AuditHead.objects.filter(origin=OWN, chain=HEADS).first()
    return f"{HEADS}.{head.seq}:{head.hash}" if head is not None else ""


def _chain_row(report: ChainReport, labels: Mapping[str, str]) -> list[str]:
    dropped = f"up to row {report.dropped:,}" if report.dropped else "-"
    verdict = "unbroken" if report.is_whole else f"BROKEN at row {report.broken_at:,}: {report.why}"
    unlinked = f"{report.unlinked:,}" if report.unlinked else "-"
    return [
        label_of(report, labels), f"{report.rows:,}", f"{report.purged_payloads:,}", dropped, unlinked, verdict,
    ]  # fmt: skip


def _log_row(entry: AuditEntry, labels: Mapping[str, str]) -> list[str]:
    about = str(entry.memory_id or "") or entry.subject or "-"
    at = f"{entry.at:%Y-%m-%d %H:%M:%S}"
    chain = labels.get(entry.chain, entry.chain)
    return [chain, str(entry.seq), at, entry.operation, entry.actor or "-", about, _payload_text(entry)]


def _payload_text(entry: AuditEntry) -> str:
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
    """A value as text, cut to _CELL_CHARS."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = "-" if text in ("null", "") else text
    return text if len(text) <= _CELL_CHARS else f"{text[: _CELL_CHARS - 1]}…"


def _row_bar(total: int | None = None) -> "tqdm[Any]":
    return tqdm(total=total, unit="row", file=sys.stderr, disable=None, leave=False)


@contextmanager
def _create_file(path: Path) -> Iterator[TextIO]:
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


FILTERS: Final = (
    option("--memory", metavar="ID", help="rows of this memory, all its versions"),
    GROUP.but(default="", help="rows of this group"),
    option("--actor", metavar="NAME", default="", help="by this user, or by this token as user/token"),
    option("--operation", metavar="WORD", default="", help=f"one of {', '.join(Operation.values)}"),
    SINCE,
    UNTIL,
    option("--run", metavar="ID", help="by this run of maintenance"),
)
AT = "with --memory: the memory at this time, rebuilt from the log"
KEPT = "a row and its hash that an earlier verify printed, kept where it could not be changed"


class Command(FaceCommand):
    """Verbs of access.audit and maintenance.audit_replay."""

    help = "Verify the audit log's chains, show its rows, or export them."
    examples = EXAMPLES
    verbs = {
        "verify": CommandVerb(
            verify, "verify every chain and the links between them",
            (option("--kept", metavar="ROW:HASH", help=KEPT),),
        ),
        "show": CommandVerb(
            show, "show the newest rows, or a memory at a past moment",
            (*FILTERS, LIMIT.but(default=SHOWN), option("--at", metavar="TIME", read=parse_moment, help=AT)),
        ),
        "export": CommandVerb(
            export, "write rows as JSON lines, oldest first",
            (option("file", type=Path, help="a new file; an existing one is never overwritten"), *FILTERS),
        ),
    }  # fmt: skip
