"""From memory to file: in folders of mode sync, a section gets the text of its changed memory."""

from collections import defaultdict
from pathlib import Path

from memories.models import Memory
from sources.models import WatchedFile, WatchedSection
from sources.watching.disk import QUIET_S
from sources.watching.file_to_memory import ScanOutcome
from sources.watching.front_matter import BrokenHead, head_span, with_own_keys
from sources.watching.note_text import NoteText, hash_of, read_note
from sources.watching.replacing import OldFile, discard_old, replace_if_same, wait_for_writers

OTHER_SHAPE = "a memory's new text has headings or fences that would change the file's other sections, so it is not written"


def write_back(root: Path, outcome: ScanOutcome, notes: dict[int, NoteText]) -> None:
    """Write the collected sections, one write per file; a file changed meanwhile is skipped."""
    by_file = defaultdict[int, list[tuple[WatchedSection, Memory]]](list)
    for row, memory in outcome.writes:
        if row.is_exact and not row.in_conflict:
            by_file[row.file.key].append((row, memory))
    old = [
        done
        for key, pairs in by_file.items()
        if (done := write_file(root, pairs[0][0].file, notes[id(pairs[0][0].file)], pairs, outcome))
        is not None
    ]
    if old:
        wait_for_writers(QUIET_S)
    for each in old:
        outcome.counts["kept"] += not discard_old(each)


def write_file(
    root: Path,
    file: WatchedFile,
    note: NoteText,
    pairs: list[tuple[WatchedSection, Memory]],
    outcome: ScanOutcome,
) -> OldFile | None:
    """Write new texts of sections into a file; returns the replaced file, None if nothing was written."""
    if note.trouble:
        return None
    sections = {each.ref: each for each in note.sections}
    bodies = {row.ref: sections[row.ref].body_of(memory.content) for row, memory in pairs}
    try:
        text = composed(note, bodies, pairs)
    except BrokenHead as broken:
        outcome.blame(file, str(broken))
        return None
    if text is None:
        outcome.blame(file, OTHER_SHAPE)
        return None
    raw = text.encode("utf-8")
    try:
        done = replace_if_same(root / file.path, file.sha, raw)
    except OSError as error:
        outcome.blame(file, f"it cannot be written: {error.strerror or error}")
        return None
    if not done.is_done:
        return None
    file.sha = file.written = done.sha
    file.signature = done.signature
    file.save(update_fields=["sha", "written", "signature"])
    new = {each.ref: each for each in read_note(file.path, raw).sections}
    for row, memory in pairs:
        row.memory, row.memory_hash = memory, memory.content_hash
        row.body_hash, row.labels_hash = new[row.ref].body_hash, new[row.ref].labels_hash
        row.save()
    outcome.counts["written"] += len(pairs)
    return done.old


def composed(
    note: NoteText, bodies: dict[str, str], pairs: list[tuple[WatchedSection, Memory]]
) -> str | None:
    """The file's text with the new bodies, and Loci's keys in a .locus file; None if other sections would change."""
    text = note.with_bodies(bodies)
    if note.is_locus and head_span(text) is not None:
        [(_, memory)] = pairs
        text = with_own_keys(text, {"loci_id": str(memory.id), "loci_version": str(memory.version)})
    after = read_note(note.path, text.encode("utf-8"))
    wanted = [(each.ref, hash_of(bodies.get(each.ref, each.body).strip())) for each in note.sections]
    got = [(each.ref, hash_of(each.body.strip())) for each in after.sections]
    return text if wanted == got else None
