"""`manage.py watch`: watch folders of notes, whose sections are memories of a group."""

from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError

from access.management.command import GROUP, CommandAnswer, either, flag, option
from access.tokens import operator
from memories.management.output import FaceCommand, in_lines, table_text
from sources.models import WAS_WRITTEN, WatchedFile, WatchedFolder, WatchedSection
from sources.watching.folders import (
    ONLY_READ,
    accept_gone,
    add_folder,
    find_by_path,
    list_folders,
    pause_folder,
    remove_folder,
    resume_folder,
)
from sources.watching.scan import one_at_a_time, scan_folder

EXAMPLES: Final = """\
examples:
  loci watch                                 the watched folders, and what is wrong with their files
  loci watch ~/notes --group me              each section becomes a memory of the group
  loci watch ~/notes --once                  look through it here and now
  loci watch ~/notes --pause                 --resume, --remove; memories and files stay
  loci watch ~/notes --accept-gone           what is gone there is meant to be gone

While 'loci up' runs, it watches the folders. A folder on a network drive may need --poll.
"""
_ACTIONS: Final = {
    "pause": ("leave it alone until it is resumed", pause_folder, "is paused"),
    "resume": ("read it again", resume_folder, "is watched again"),
    "accept_gone": ("what is gone there is meant to be gone", accept_gone, "is watched again; what is gone becomes unconfirmed"),
    "remove": ("stop watching it; memories and files stay", remove_folder, "is not watched any more"),
}  # fmt: skip
HEADER: Final = ("folder", "group", "state", "files", "sections", "note")


class Command(FaceCommand):
    """Adds, lists, changes and looks through watched folders as the operator of this machine."""

    help = "Watch folders of notes, whose sections are memories of a group."
    examples = EXAMPLES

    options = (
        option("folder", nargs="?", metavar="DIR", help="none: list the watched folders"),
        GROUP,
        flag("--poll", "look at it regularly, for network drives"),
        flag("--as-own", "its texts are the team's own, not from outside"),
        either(
            flag("--once", "look through a watched folder here and now"),
            *(flag(f"--{name.replace('_', '-')}", meaning) for name, (meaning, _, _) in _ACTIONS.items()),
        ),
    )

    def act(self, options: dict[str, Any]) -> CommandAnswer:
        chosen = next((name for name in _ACTIONS if options[name]), "")
        if options["folder"] is None:
            if options["once"] or chosen:
                raise CommandError("Name the folder: loci watch DIR", returncode=2)
            return _list_watched()
        path = Path(options["folder"])
        if options["once"]:
            return _scan_once(path)
        if chosen:
            folder = find_by_path(operator(), path)
            _, change, done = _ACTIONS[chosen]
            change(operator(), folder)
            text = f"{folder.path} {done}."
        else:
            folder = add_folder(
                operator(), path, group=options["group"], poll=options["poll"], as_own=options["as_own"]
            )
            note = f" {folder.note}." if folder.note else ""
            text = f"{folder.path} is watched for the group '{folder.group.slug}'.{note}"
        body = {"name": folder.name, "path": folder.path, "state": folder.state, "note": folder.note}
        return CommandAnswer(body, text)


def _scan_once(path: Path) -> CommandAnswer:
    folder = find_by_path(operator(), path)
    with one_at_a_time():
        report = scan_folder(folder)
    done = ", ".join(f"{count:,} {name}" for name, count in report.counts.items()) or "Nothing has changed"
    later = " A file is being written; look again." if report.again else ""
    body = {"counts": report.counts, "again": report.again, "note": report.note}
    return CommandAnswer(body, report.note or f"{done}.{later}", status=1 if report.note else 0)


def _list_watched() -> CommandAnswer:
    rows = [_folder_row(folder) for folder in list_folders(operator())]
    was_written = WatchedFolder.objects.filter(mode=WAS_WRITTEN)
    problems = [{"file": folder.path, "why": f"it {ONLY_READ}"} for folder in was_written]
    was_written.update(mode="read")  # said once
    files = WatchedFile.objects.exclude(problem="").select_related("folder").order_by("folder", "path")
    problems += [{"file": str(Path(file.folder.path) / file.path), "why": file.problem} for file in files]
    body = {"folders": [dict(zip(HEADER, row, strict=True)) for row in rows], "problems": problems}
    if not rows:
        return CommandAnswer(body, "No folder is watched. 'loci watch DIR --group NAME' begins.")
    table = table_text([[str(cell) for cell in row] for row in rows], header=HEADER)
    return CommandAnswer(body, in_lines(table, *(f"{each['file']}: {each['why']}" for each in problems)))


def _folder_row(folder: WatchedFolder) -> tuple[object, ...]:
    files = WatchedFile.objects.filter(folder=folder, gone_since=None).count()
    sections = WatchedSection.objects.filter(file__folder=folder, gone_since=None).count()
    return folder.path, folder.group.slug, folder.state, files, sections, folder.note
