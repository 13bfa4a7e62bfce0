"""Files uploaded in the browser: stored, checked, then imported with their sender's rights.

A small file is processed while its sender waits, a larger one by the worker. Both run the same steps: a dry run that counts
lines and lists rejected ones, after the sender's confirmation the import itself, and its undo if the sender wants that.
"""

import logging
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from access.actor import CREATE_GROUP, WRITE, Actor, Via
from access.errors import Conflict, InvalidInput, LociError, NotFound, NotPermitted, TooLarge
from access.groups import find_group
from access.groups.guarding import mask_words
from access.tokens import actor_for_user
from memories.language.cleaning import format_count
from sources.importing import choose_importer
from sources.importing.importer import LineRules
from sources.importing.lines import count_lines
from sources.importing.undo import undo_import
from sources.models import Upload, UploadState
from sources.uploads.files import file_of, open_file, remove_file, write_file
from sources.uploads.masking import mask_file
from storage.encryption import database_key

log = logging.getLogger(__name__)
# Measured: a dry run takes a few hundred microseconds per line, an import a few milliseconds for each vector.
AT_ONCE_BYTES = 128 * 1024
_CONFIRM_WITHIN = timedelta(days=1)  # then an unconfirmed file is discarded
_RECORDS_KEPT = timedelta(days=30)  # of finished imports
# A worker reports after every thousand lines, which take a minute on the slowest machine.
_DEAD_AFTER = timedelta(minutes=10)
MAX_FAULTS = 200
MAX_WAITING = 20  # unfinished files of one person
TO_DO = (UploadState.CHECK, UploadState.IMPORT, UploadState.UNDO)


@dataclass(frozen=True)
class SentUpload:
    """A file as received: its name, its length in bytes, and its chunks."""

    name: str
    size: int
    chunks: Iterable[bytes]


def own_uploads(actor: Actor) -> QuerySet[Upload]:
    """The actor's own uploads, newest first; none for a token."""
    rows = Upload.objects.all()
    return rows.none() if actor.user_id is None or not actor.is_person else rows.filter(user_id=actor.user_id)


def may_import(actor: Actor) -> bool:
    """True if the actor may write in any group."""
    return actor.may(CREATE_GROUP) or actor.may_somewhere(WRITE)


def receive_upload(actor: Actor, sent: SentUpload, rules: LineRules, *, file_format: str = "") -> Upload:
    """Store a file and check it: a small one at once, a larger one by a worker. No memory is stored yet.

    If `rules.source` is empty, the source is as usual for the format. An empty `file_format` is recognised.

    Raises:
        NotPermitted: the actor is not a person, or may not write in any group.
        GroupNotFound: the actor may not write to the group `rules.group`.
        InvalidInput, TooLarge: the file is empty, or larger than the setting server.max_upload_bytes.
        Conflict: this person has too many unfinished files.
    """
    if actor.user_id is None or not actor.is_person or not may_import(actor):
        raise NotPermitted(
            "You may not write in any group.", hint="Ask an admin of a group to make you a contributor."
        )
    if rules.group:
        find_group(actor, rules.group, right=WRITE)
    _check_size(sent.size)
    last = "".join(c for c in PurePosixPath(sent.name.replace("\\", "/")).name if c.isprintable())
    name = last.encode("utf-8", "replace").decode()[-200:] if last.strip(". ") else "file.jsonl"
    name = mask_words(name)[:200]
    if own_uploads(actor).filter(finished_at=None).count() >= MAX_WAITING:
        raise Conflict(
            f"You already have {MAX_WAITING} unfinished files.", hint="Import or discard them first."
        )
    upload = Upload(
        user_id=actor.user_id, name=name, size=sent.size, group=rules.group, type=rules.type, scope=rules.scope,
        source=mask_words(rules.source)[:200], format=file_format, waiting=rules.waiting,
    )  # fmt: skip
    write_file(upload, sent.chunks)
    try:
        with open_file(upload) as path:
            upload.line_count = count_lines(path)
        upload.save()
    except BaseException:
        remove_file(upload)
        raise
    return _process_if_small(upload)


def begin_undo(actor: Actor, upload_id: UUID) -> Upload:
    """Take a whole import back: that of a small file at once, that of a larger one by a worker.

    Raises:
        NotFound: the actor has no such file.
        Conflict: it is not imported, or nothing was.
    """
    upload = find_upload(actor, upload_id)
    done = own_uploads(actor).filter(pk=upload.pk, state=UploadState.DONE).exclude(run=None)
    if done.update(state=UploadState.UNDO, lines_done=0, working_at=None, finished_at=None) != 1:
        raise Conflict(
            f"'{upload.name}' cannot be undone, its state is '{upload.state}'.", hint="Reload the page."
        )
    return _process_if_small(find_upload(actor, upload_id))


def begin_import(actor: Actor, upload_id: UUID) -> Upload:
    """Confirm a checked file: a small one is imported at once, a larger one by a worker.

    Raises:
        NotFound: the actor has no such file.
        Conflict: it is not waiting for confirmation.
    """
    upload = find_upload(actor, upload_id)
    checked = own_uploads(actor).filter(pk=upload.pk, state=UploadState.CHECKED)
    if checked.update(state=UploadState.IMPORT, lines_done=0, working_at=None) != 1:
        raise Conflict(
            f"'{upload.name}' is not waiting for confirmation, its state is '{upload.state}'.",
            hint="Reload the page.",
        )
    return _process_if_small(find_upload(actor, upload_id))


def discard_upload(actor: Actor, upload_id: UUID) -> Upload:
    """Discard a file that has not been imported; the file itself is deleted.

    Raises:
        NotFound: the actor has no such file.
        Conflict: it is being imported, or finished.
    """
    upload = find_upload(actor, upload_id)
    rows = own_uploads(actor).filter(pk=upload.pk, state__in=(UploadState.CHECK, UploadState.CHECKED))
    if rows.update(state=UploadState.DISCARDED, finished_at=timezone.now(), faults=[]) != 1:
        raise Conflict(
            f"'{upload.name}' can no longer be discarded.", hint="Forget the memories that it stored."
        )
    remove_file(upload)
    return find_upload(actor, upload_id)


def find_upload(actor: Actor, upload_id: UUID) -> Upload:
    """One of the actor's uploads.

    Raises:
        NotFound: the actor has no upload with this id.
    """
    found = own_uploads(actor).filter(id=upload_id).first()
    if found is None:
        raise NotFound("You have no such import.")
    return found


def _process_if_small(upload: Upload) -> Upload:
    if upload.size <= AT_ONCE_BYTES:
        process_upload(upload)
        upload.refresh_from_db()
    return upload


def _waiting_uploads() -> QuerySet[Upload]:
    dead = timezone.now() - _DEAD_AFTER
    return Upload.objects.filter(Q(working_at=None) | Q(working_at__lt=dead), state__in=TO_DO).order_by("key")


def is_waiting() -> bool:
    """True if there is something to process; one cheap query."""
    return _waiting_uploads().exists()


def process_waiting(actor: Actor) -> str | None:
    """Process all waiting uploads, each with its sender's rights; None if there were none."""
    done = 0
    while (upload := _waiting_uploads().first()) is not None and process_upload(upload):
        done += 1
    return format_count(done, "file") if done else None


def process_upload(upload: Upload) -> bool:
    """Check or import a file, or take its import back, and store the result; False if another process works on it."""
    mine = _waiting_uploads().filter(pk=upload.pk, state=upload.state)
    if mine.update(working_at=timezone.now(), lines_done=0) != 1:
        return False
    try:
        columns = _undo_upload(upload) if upload.state == UploadState.UNDO else _import_upload(upload)
    except LociError as refusal:
        columns = _failed(upload, str(refusal))
    except Exception:
        reference = secrets.token_hex(4)
        log.exception("The import of upload %s failed, reference %s", upload.id, reference)
        columns = _failed(
            upload, f"An internal error occurred. The operator finds it in the log as {reference}."
        )
    is_over = columns["state"] != UploadState.CHECKED
    Upload.objects.filter(pk=upload.pk, state=upload.state).update(
        **columns, working_at=None, finished_at=timezone.now() if is_over else None
    )
    if is_over:
        remove_file(upload)
    return True


# Of a file whose import has brought nothing.
_NOTHING: Final[dict[str, Any]] = {
    "report": [], "faults": [], "fault_count": 0, "left_out": [], "sample": [], "run": None, "error": "",
}  # fmt: skip


def _failed(upload: Upload, why: str) -> dict[str, Any]:
    """The columns after a failed step. After a failed undo the file is imported still, and can be undone again."""
    if upload.state == UploadState.UNDO:
        return {"state": UploadState.DONE, "error": why}
    return {**_NOTHING, "state": UploadState.FAILED, "lines_done": F("line_count"), "error": why}


def _undo_upload(upload: Upload) -> dict[str, Any]:
    """Take an import back with its sender's present rights: the columns that say what was taken back and what stays."""
    result = undo_import(
        _sender_actor(upload.user_id), upload.run or "", on_progress=lambda done: _note_progress(upload, done)
    )
    count = result.hidden + result.restored
    return {
        **_NOTHING,
        "state": UploadState.UNDONE,
        "report": [["taken back", count]] if count else [],
        "left_out": [[each.why[:500], 1] for each in result.kept[:MAX_FAULTS]],
    }


def delete_old_uploads() -> int:
    """Discard files not confirmed within a day, and delete records older than a month; return the number of rows."""
    now = timezone.now()
    late = Upload.objects.filter(
        finished_at=None,
        created_at__lt=now - _CONFIRM_WITHIN,
        state__in=(UploadState.CHECK, UploadState.CHECKED),
    )
    for upload in late:
        remove_file(upload)
    count = late.update(state=UploadState.DISCARDED, finished_at=now, faults=[], sample=[])
    return count + Upload.objects.filter(finished_at__lt=now - _RECORDS_KEPT).delete()[0]


def _import_upload(upload: Upload) -> dict[str, Any]:
    """Import a file, or try to: the columns that say what was imported, or would be."""
    if not file_of(upload).exists():
        raise NotFound("The file no longer exists.", hint="Upload it again.")
    is_trial = upload.state == UploadState.CHECK
    with open_file(upload) as path:
        importer = choose_importer(path, upload.format)
        if not upload.recognised:  # what depends on the format: its source, and whether its lines count
            upload.recognised = importer.name
            upload.source = upload.source or importer.source_of(Path(upload.name))[:200]
            upload.line_count = upload.line_count if importer.has_lines else 0
            upload.save(update_fields=["recognised", "source", "line_count"])
        rules = LineRules(upload.source, upload.group, upload.type, upload.scope, waiting=upload.waiting)
        report = importer.run(
            _sender_actor(upload.user_id),
            path,
            rules,
            on_progress=lambda line: _note_progress(upload, line),
            dry_run=is_trial,
        )
    if is_trial:
        mask_file(file_of(upload), database_key())
    return {
        "state": UploadState.CHECKED if is_trial else UploadState.DONE,
        "report": report.counts(),
        "faults": [[fault.line, fault.why[:500]] for fault in report.faults[:MAX_FAULTS]],
        "fault_count": len(report.faults),
        "left_out": [[why[:500], count] for why, count in report.skipped.items()],
        "sample": list(report.sample) if is_trial else [],
        "run": report.run or None,
        "lines_done": F("line_count"),
        "error": "",
    }


def _note_progress(upload: Upload, done: int) -> None:
    Upload.objects.filter(pk=upload.pk).update(lines_done=done, working_at=timezone.now())


def _sender_actor(user_id: int) -> Actor:
    """The actor of a file's sender, with present rights; raises NotPermitted for a deactivated user."""
    user = User.objects.get(pk=user_id)
    if not user.is_active:
        raise NotPermitted("The sender's account is deactivated.")
    return replace(actor_for_user(user, via=Via.ADMIN), client="import")


def _check_size(size: int) -> None:
    limit = settings.LOCI.server.max_upload_bytes
    if size > limit:
        raise TooLarge(
            f"The file has {size / 2**20:.1f} MiB; uploads are limited to {limit / 2**20:.0f} MiB.",
            hint="Split it, or have an operator run 'loci import FILE'.",
            field="file",
        )
    if size == 0:
        raise InvalidInput("The file is empty.", field="file")
