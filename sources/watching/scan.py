"""One scan of a watched folder: read what changed, decide, then apply; nothing is applied if the folder is missing."""

import fcntl
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from memories.types import State
from sources.importing.formats.notes.instructions import is_instruction
from sources.models import WatchedFile, WatchedFolder, WatchedSection, WatchState
from sources.watching.disk import MARKER, FolderGone, list_files, read_file, read_marker, sha_of
from sources.watching.file_to_memory import NewSection, ScanWrites, current_memories
from sources.watching.folders import ALLOW, ENCRYPTED, folder_actor, may_be_plain, note_scanned
from sources.watching.missing import asks_about, doubt_gone, note_gone, waiting_gone
from sources.watching.note_text import Matches, NoteText, SectionText, match_sections, read_note
from storage.ids import new_id

_MAX_FILE_KB = 100  # largest note that is read


@dataclass(frozen=True)
class FolderReport:
    """The result of a scan in numbers. `again`: a file was being written, so scan again soon."""

    counts: dict[str, int] = field(default_factory=dict)
    again: bool = False
    note: str = ""
    seconds: float = 0.0


@dataclass
class Look:
    """The state of a folder: files with new bytes, missing files, and whether one is being written.

    `is_moving`: a new file is still being written. What is missing may be that file, so nothing counts as missing yet.
    """

    read: list[tuple[WatchedFile, bytes]] = field(default_factory=list)
    unreadable: list[WatchedFile] = field(default_factory=list)
    missing: list[WatchedFile] = field(default_factory=list)
    again: bool = False
    is_moving: bool = False


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Hold the lock that lets one process at a time scan, after waiting for others."""
    with (Path(settings.LOCI.home) / "watching.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def scan_folder(folder: WatchedFolder, *, now: datetime | None = None) -> FolderReport:
    """Bring the memories of a folder up to date, as far as its state allows.

    1. see which files have changed and which are gone, and read those; a folder that is away ends it here
    2. match sections with rows; ask if much is gone at once
    3. store, edit or propose; doubt what an earlier scan missed as well
    """
    now = now or timezone.now()
    if folder.state in (WatchState.PAUSED, WatchState.ASKING):
        return FolderReport(note=folder.note)
    if folder.group.private or folder.group.archived:
        return stop(folder, WatchState.PAUSED, "its group is private or archived")
    if not may_be_plain():
        return stop(folder, WatchState.PAUSED, f"{ENCRYPTED} {ALLOW}")
    try:
        look = _look_through(folder, Path(folder.path), now.timestamp())
        _check_there(folder)
    except FolderGone as gone:
        return stop(folder, WatchState.MISSING, str(gone))
    return _apply_look(folder, look, now)


def stop(folder: WatchedFolder, state: WatchState, why: str) -> FolderReport:
    """Record why a folder is not read; sections missed so far are forgotten."""
    WatchedSection.objects.filter(file__folder=folder, disputed_from="").update(gone_since=None)
    WatchedFile.objects.filter(folder=folder).update(gone_since=None)
    note_scanned(folder, state, why)
    return FolderReport(note=why)


def _check_there(folder: WatchedFolder) -> None:
    """Raise FolderGone if the folder or its marker is missing: something else may be mounted there."""
    root = Path(folder.path)
    if not root.is_dir():
        raise FolderGone(f"{root} is not there")
    if folder.marker and read_marker(root) != folder.marker:
        raise FolderGone(f"{root / MARKER} is not there; if the folder is the right one, resume it")


def _look_through(folder: WatchedFolder, root: Path, at: float) -> Look:
    _check_there(folder)
    rows = {row.path: row for row in WatchedFile.objects.filter(folder=folder)}
    seen = {file.path: file for file in list_files(root)}
    unsettled = _unsettled_files(folder)
    look = Look()
    for path, file in seen.items():
        row = rows.get(path) or WatchedFile(folder=folder, path=path)
        is_settled = row.gone_since is None and row.pk not in unsettled
        if row.signature == file.signature and is_settled:
            continue
        if file.size > _MAX_FILE_KB * 1024:
            row.problem, row.signature = f"it is larger than {_MAX_FILE_KB} KiB", file.signature
            look.unreadable.append(row)
            continue
        raw = read_file(root, file) if file.is_quiet(at) else None
        if raw is None:  # it is being written
            look.again = True
            look.is_moving |= row.pk is None
            continue
        is_same = row.sha == sha_of(raw) and is_settled
        row.sha, row.signature = sha_of(raw), file.signature
        if is_same:
            WatchedFile.objects.filter(pk=row.pk).update(signature=row.signature)
        else:
            look.read.append((row, raw))
    missing = [row for path, row in rows.items() if path not in seen]
    missing = _without_moved(look, missing)
    look.missing = missing if folder.marker and not look.is_moving else []
    return look


def _without_moved(look: Look, missing: list[WatchedFile]) -> list[WatchedFile]:
    """The missing files without those moved: a new file with the same bytes takes over the row."""
    by_sha = defaultdict[str, list[WatchedFile]](list)
    for row in missing:
        if row.sha:
            by_sha[row.sha].append(row)
    for at, (row, raw) in enumerate(look.read):
        if row.pk is None and (same := by_sha[row.sha]):
            moved = same.pop()
            moved.path, moved.signature = row.path, row.signature
            look.read[at] = (moved, raw)
            missing = [each for each in missing if each is not moved]
    return missing


@dataclass
class _ScanPlan:
    """The decisions of a scan: matches, new sections, and sections gone from existing files."""

    pairs: list[tuple[SectionText, WatchedSection]] = field(default_factory=list)
    new: list[NewSection] = field(default_factory=list)
    gone: list[WatchedSection] = field(default_factory=list)


def _apply_look(folder: WatchedFolder, look: Look, now: datetime) -> FolderReport:
    texts = _parse(look)
    rows = rows_of(folder, [row for row, _ in look.read] + look.missing)
    lost = WatchedSection.objects.filter(file__folder=folder, gone_since__isnull=False)
    lost = lost.select_related("file", *MEMORY).order_by("key")
    plan = _make_plan(texts, rows, look.missing, list(lost))
    fresh = [row for row in plan.gone if row.gone_since is None and row.is_own]
    back = {row.key for _, row in plan.pairs}
    waiting = [row for row in waiting_gone(folder) if row.key not in back]
    if question := asks_about(folder, len(fresh) + len(waiting)):
        return stop(folder, WatchState.ASKING, question)
    # New rows have no hashes yet, so a killed process reads the files again.
    for file in [*(file for file, _ in look.read), *look.unreadable]:
        if file.pk is None:
            sha, signature, file.sha, file.signature = file.sha, file.signature, "", ""
            file.save()
            file.sha, file.signature = sha, signature
    writes = ScanWrites(folder_actor(folder, new_id()), folder)
    note_gone(folder, look.missing, [row for row in plan.gone if row.file.gone_since is None], now)
    heads = current_memories([row for _, row in plan.pairs])
    for section, row in plan.pairs:
        if (again := writes.take_pair(section, row, heads.get(row.key))) is not None:
            plan.new.append(again)
    writes.store_new(plan.new)
    writes.propose_instruction_files(texts)
    writes.counts["unconfirmed"] += doubt_gone(writes.actor, folder, now)
    save_files(look, writes.problems)
    note_scanned(folder, WatchState.ACTIVE, "" if folder.marker else folder.note)
    return FolderReport(dict(+writes.counts), again=look.again)


def _parse(look: Look) -> list[tuple[WatchedFile, NoteText]]:
    """The texts of the files read; a file that is not UTF-8 keeps its rows. Instruction files have no sections."""
    texts = []
    for row, raw in look.read:
        row.problem = ""
        try:
            note = read_note(row.path, raw)
            texts.append((row, replace(note, sections=()) if is_instruction(row.path) else note))
        except UnicodeDecodeError:
            row.problem = "it is not UTF-8"
    return texts


def rows_of(folder: WatchedFolder, files: list[WatchedFile]) -> dict[int, list[WatchedSection]]:
    """The rows of these files' sections, by the file's key."""
    found = defaultdict[int, list[WatchedSection]](list)
    by_key = {file.key: file for file in files if file.pk is not None}
    wanted = WatchedSection.objects.filter(file__folder=folder).select_related(*MEMORY).order_by("key")
    for row in wanted if len(by_key) > _MOST_NAMED else wanted.filter(file__in=by_key):
        if row.file_id in by_key:
            row.file = by_key[row.file_id]
            found[row.file_id].append(row)
    return found


MEMORY = ("memory__group", "memory__thread", "memory__token", "memory__root")
_MOST_NAMED = 500  # files in one query


def _make_plan(
    texts: list[tuple[WatchedFile, NoteText]],
    rows: dict[int, list[WatchedSection]],
    missing: list[WatchedFile],
    lost: list[WatchedSection],
) -> _ScanPlan:
    """Match texts and rows; a section moved to another file keeps its row.

    `lost` are the rows that earlier looks missed: their texts may be back in another file.
    """
    plan = _ScanPlan()
    for file, note in texts:
        found: Matches = match_sections(note.sections, rows.get(file.key, []) if file.pk is not None else [])
        plan.pairs += found.pairs
        plan.new += [NewSection(file, section) for section in found.new]
        plan.gone += found.gone
    plan.gone += [row for file in missing for row in rows.get(file.key, [])]
    by_body = defaultdict[str, list[WatchedSection]](list)
    have = {row.key for _, row in plan.pairs} | {row.key for row in plan.gone}
    for row in [*plan.gone, *(row for row in lost if row.key not in have)]:
        by_body[row.body_hash].append(row)
    still_new = []
    for new in plan.new:
        if same := by_body[new.section.body_hash]:
            row = same.pop()
            row.file = new.file
            plan.pairs.append((new.section, row))
            plan.gone = [each for each in plan.gone if each is not row]
        else:
            still_new.append(new)
    plan.new = still_new
    return plan


def save_files(look: Look, problems: Mapping[int, list[str]]) -> None:
    """Save the rows of the files read with their problems, after everything is applied."""
    for row, _ in look.read:
        row.problem = "; ".join(filter(None, [row.problem, *problems.get(row.key, [])]))[:2000]
    for row in [*(row for row, _ in look.read), *look.unreadable]:
        row.gone_since = None
        row.save()


def _unsettled_files(folder: WatchedFolder) -> set[int]:
    """The files with a section that waits in the Review and whose memory has changed since."""
    rows = WatchedSection.objects.filter(file__folder=folder, in_conflict=True, gone_since=None)
    waiting = list(rows.select_related(*MEMORY))
    heads = current_memories(waiting)
    return {
        row.file_id
        for row in waiting
        if (head := heads.get(row.key)) and head.state == State.LIVE and head.content_hash != row.memory_hash
    }
