"""Files that a person sends in the browser: kept, looked through, then imported with that person's rights.

A small file is worked on while the person waits; a larger one by the worker. Both do the same, one after the other: a
dry run that counts and names what is not taken, and, once the person says yes, the import itself.
"""

import logging
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import PurePosixPath
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from access.actor import CREATE_GROUP, WRITE, Actor, Via
from access.errors import Conflict, InvalidInput, LociError, NotFound, NotPermitted, TooLarge
from access.groups import find_group
from access.tokens import actor_for_user
from sources.importing import import_file
from sources.importing.exports import RestoreReport
from sources.importing.texts import LineRules, LinesReport
from sources.models import Upload, UploadState
from sources.uploads.files import count_lines, file_of, remove_file, write_file

log = logging.getLogger(__name__)
# Measured: a dry run takes a few hundred microseconds a line, an import a few milliseconds for its vector.
AT_ONCE_BYTES = 128 * 1024
KEPT = timedelta(days=1)  # a file that nobody says yes to
REMEMBERED = timedelta(days=30)  # what became of it
# Whoever is at work says so after each thousand lines; the slowest machine needs a minute for them.
DEAD_AFTER = timedelta(minutes=10)
FAULTS_KEPT = 200
WAITING_MOST = 20  # files of one person that are not done with
WORDS = {
    "created": "created",
    "unchanged": "unchanged",
    "reinforced": "restated",
    "queued": "waiting for a curator",
}
TO_DO = (UploadState.CHECK, UploadState.IMPORT)


@dataclass(frozen=True)
class SentUpload:
    """A file as it was sent: its name, its length in bytes, and its parts."""

    name: str
    size: int
    chunks: Iterable[bytes]


def own_uploads(actor: Actor) -> QuerySet[Upload]:
    """Give what the person has sent, the newest first; nothing of anybody else's."""
    rows = Upload.objects.all()
    return rows.none() if actor.user_id is None or not actor.is_person else rows.filter(user_id=actor.user_id)


def may_import(actor: Actor) -> bool:
    """Say whether the actor may write anywhere."""
    return actor.all_groups or actor.may(CREATE_GROUP) or any(actor.may(WRITE, key) for key in actor.roles)


def keep_upload(actor: Actor, sent: SentUpload, rules: LineRules) -> Upload:
    """Keep a file and look it through: at once where it is small, else a worker does. Nothing is stored yet.

    `rules.source` empty: it is called after the file's name.

    Raises:
        NotPermitted: the actor is no person, or may write nowhere.
        GroupNotFound: `rules.group` names no group that the actor may write to.
        InvalidInput, TooLarge: the file is empty, or larger than the setting server.max_upload_bytes.
        Conflict: too many files of this person wait.
    """
    if actor.user_id is None or not actor.is_person or not may_import(actor):
        raise NotPermitted(
            "You may write in no group.", hint="Ask an admin of a group to make you a contributor."
        )
    if rules.group:
        find_group(actor, rules.group, right=WRITE)
    _check_size(sent.size)
    name = _shown_name(sent.name)
    if own_uploads(actor).filter(finished_at=None).count() >= WAITING_MOST:
        raise Conflict(f"{WAITING_MOST} files of yours wait already.", hint="Import or discard them first.")
    upload = Upload(
        user_id=actor.user_id, name=name, size=sent.size, group=rules.group, type=rules.type, scope=rules.scope,
        source=(rules.source or PurePosixPath(name).stem)[:200],
    )  # fmt: skip
    write_file(upload, sent.chunks)
    try:
        upload.line_count = count_lines(file_of(upload))
        upload.save()
    except BaseException:
        remove_file(upload)
        raise
    return work_if_small(upload)


def begin_import(actor: Actor, upload_id: UUID) -> Upload:
    """Say yes to a file that was looked through: imported at once where it is small, else by a worker.

    Raises:
        NotFound: it is no file of the actor's.
        Conflict: it is not waiting for a yes.
    """
    upload = find_upload(actor, upload_id)
    said = own_uploads(actor).filter(pk=upload.pk, state=UploadState.CHECKED)
    if said.update(state=UploadState.IMPORT, lines_done=0, working_at=None) != 1:
        raise Conflict(f"'{upload.name}' does not wait for a yes: {upload.state}.", hint="Look at it again.")
    return work_if_small(find_upload(actor, upload_id))


def discard_upload(actor: Actor, upload_id: UUID) -> Upload:
    """Take a file back that is not imported yet; the file itself is removed.

    Raises:
        NotFound: it is no file of the actor's.
        Conflict: it is being imported, or done with.
    """
    upload = find_upload(actor, upload_id)
    rows = own_uploads(actor).filter(pk=upload.pk, state__in=(UploadState.CHECK, UploadState.CHECKED))
    if rows.update(state=UploadState.DISCARDED, finished_at=timezone.now(), faults=[]) != 1:
        raise Conflict(
            f"'{upload.name}' cannot be taken back any more.", hint="What it stored can be forgotten."
        )
    remove_file(upload)
    return find_upload(actor, upload_id)


def find_upload(actor: Actor, upload_id: UUID) -> Upload:
    """Give one of the actor's files.

    Raises:
        NotFound: there is none of this id that is the actor's.
    """
    found = own_uploads(actor).filter(id=upload_id).first()
    if found is None:
        raise NotFound("There is no such import of yours.")
    return found


def work_if_small(upload: Upload) -> Upload:
    """Do what is asked of a small file now; of a larger one it stays to be done."""
    if upload.size <= AT_ONCE_BYTES:
        work_on(upload)
        upload.refresh_from_db()
    return upload


def waiting() -> QuerySet[Upload]:
    """Give the files of which something is asked and that nobody is at work on, the oldest first."""
    dead = timezone.now() - DEAD_AFTER
    return Upload.objects.filter(Q(working_at=None) | Q(working_at__lt=dead), state__in=TO_DO).order_by("key")


def is_waiting() -> bool:
    """Say cheaply whether there is something to do."""
    return waiting().exists()


def work_on_waiting(actor: Actor) -> str | None:
    """Do all that is asked, as a worker does; None where there was nothing. Each file with its own person's rights."""
    done = 0
    while (upload := waiting().first()) is not None and work_on(upload):
        done += 1
    return f"{done} file{'' if done == 1 else 's'}" if done else None


def work_on(upload: Upload) -> bool:
    """Do what is asked of a file, and keep what came of it; False where somebody else is at it."""
    if (
        waiting().filter(pk=upload.pk, state=upload.state).update(working_at=timezone.now(), lines_done=0)
        != 1
    ):
        return False
    is_trial = upload.state == UploadState.CHECK
    try:
        report = _run(upload, dry_run=is_trial)
    except LociError as refusal:
        _end(upload, UploadState.FAILED, error=str(refusal))
    except Exception:
        reference = secrets.token_hex(4)
        log.exception("The import of upload %s failed, reference %s", upload.id, reference)
        _end(
            upload,
            UploadState.FAILED,
            error=f"Something broke. Whoever runs Loci finds it in the log under {reference}.",
        )
    else:
        _end(upload, UploadState.CHECKED if is_trial else UploadState.DONE, report=report)
    return True


def delete_old_uploads() -> int:
    """Take back what nobody said yes to within a day, and forget what was done with a month ago; give how many rows."""
    now = timezone.now()
    late = Upload.objects.filter(
        finished_at=None, created_at__lt=now - KEPT, state__in=(UploadState.CHECK, UploadState.CHECKED)
    )
    for upload in late:
        remove_file(upload)
    count = late.update(state=UploadState.DISCARDED, finished_at=now, faults=[])
    return count + Upload.objects.filter(finished_at__lt=now - REMEMBERED).delete()[0]


def _run(upload: Upload, *, dry_run: bool) -> LinesReport | RestoreReport:
    path = file_of(upload)
    if not path.exists():
        raise NotFound("The file is gone.", hint="Send it again.")
    rules = LineRules(upload.source, upload.group, upload.type, upload.scope)
    actor = _actor(upload.user_id)
    return import_file(actor, path, rules, on_progress=_progress(upload), dry_run=dry_run)


def _actor(user_id: int) -> Actor:
    """Give the Actor of the person who sent a file, with the rights of now."""
    user = User.objects.get(pk=user_id)
    if not user.is_active:
        raise NotPermitted("Whoever sent it may not log in any more.")
    return replace(actor_for_user(user, via=Via.ADMIN), client="import")


def _progress(upload: Upload) -> Callable[[int], object]:
    rows = Upload.objects.filter(pk=upload.pk)
    return lambda line: rows.update(lines_done=line, working_at=timezone.now())


def _end(
    upload: Upload, state: UploadState, *, report: LinesReport | RestoreReport | None = None, error: str = ""
) -> None:
    """Keep what came of it, unless the file was taken back meanwhile; the file goes once it is needed no more."""
    is_over = state != UploadState.CHECKED
    faults = report.faults if report else ()
    rows = Upload.objects.filter(pk=upload.pk, state=upload.state)
    with transaction.atomic():
        rows.update(
            state=state,
            report=counted(report) if report else [],
            faults=[[fault.line, fault.why[:500]] for fault in faults[:FAULTS_KEPT]],
            fault_count=len(faults),
            lines_done=F("line_count"),
            error=error,
            working_at=None,
            finished_at=timezone.now() if is_over else None,
        )
    if is_over:
        remove_file(upload)


def counted(report: LinesReport | RestoreReport) -> list[list[object]]:
    """Give what a report counts, in words, zeros left out."""
    if isinstance(report, LinesReport):
        return [[word, getattr(report, name)] for name, word in WORDS.items() if getattr(report, name)]
    added: list[list[object]] = [[f"{kind} added", count] for kind, count in report.added.items() if count]
    there = sum(report.unchanged.values())
    return [*added, *([["lines that were here already", there]] if there else [])]


def _check_size(size: int) -> None:
    most = settings.LOCI.server.max_upload_bytes
    if size > most:
        raise TooLarge(
            f"The file has {size / 2**20:.1f} MiB; the browser sends at most {most / 2**20:.0f} MiB.",
            hint="Cut it into parts, or have an operator run 'loci import FILE'.",
            field="file",
        )
    if size == 0:
        raise InvalidInput("The file is empty.", field="file")


def _shown_name(name: str) -> str:
    """Give the last part of a name, made fit to be shown and kept."""
    last = "".join(c for c in PurePosixPath(name.replace("\\", "/")).name if c.isprintable())
    return last.encode("utf-8", "replace").decode()[-200:] if last.strip(". ") else "file.jsonl"
