"""`manage.py watch`: watch folders of notes, whose sections are memories of a group."""

from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError
from django.db.models import Count

from access.management.command import GROUP, either, flag, option
from access.tokens import operator
from memories.management.output import FaceCommand
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
from sources.watching.scan import FolderReport, one_at_a_time, scan_folder

EXAMPLES: Final = """\
examples:
  loci watch                                 the watched folders, and what is wrong with their files
  loci watch ~/notes --group me              each section becomes a memory of the group
  loci watch ~/notes --once                  look through it here and now
  loci watch ~/notes --pause                 --resume, --remove; memories and files stay
  loci watch ~/notes --accept-gone           what is gone there is meant to be gone

While 'loci up' runs, it watches the folders. A folder on a network drive may need --poll.
"""
ACTIONS: Final = {
    "pause": ("leave it alone until it is resumed", pause_folder, "is paused"),
    "resume": ("read it again", resume_folder, "is watched again"),
    "accept_gone": ("what is gone there is meant to be gone", accept_gone, "is watched again; what is gone becomes unconfirmed"),
    "remove": ("watch it no more; memories and files stay", remove_folder, "is not watched any more"),
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
            *(flag(f"--{name.replace('_', '-')}", meaning) for name, (meaning, _, _) in ACTIONS.items()),
        ),
    )

    def act(self, options: dict[str, Any]) -> int:
        if options["folder"] is None:
            if options["once"] or any(options[name] for name in ACTIONS):
                raise CommandError("Name the folder: loci watch DIR", returncode=2)
            self._list(is_json=options["json"])
            return 0
        path = Path(options["folder"])
        if options["once"]:
            return self._once(path, is_json=options["json"])
        for name, (_, change, done) in ACTIONS.items():
            if options[name]:
                folder = find_by_path(operator(), path)
                change(operator(), folder)
                self._tell(folder, f"{folder.path} {done}.", is_json=options["json"])
                return 0
        folder = add_folder(
            operator(), path, group=options["group"], poll=options["poll"], as_own=options["as_own"]
        )
        note = f" {folder.note}." if folder.note else ""
        self._tell(
            folder,
            f"{folder.path} is watched for the group '{folder.group.slug}'.{note}",
            is_json=options["json"],
        )
        return 0

    def _tell(self, folder: WatchedFolder, text: str, *, is_json: bool) -> None:
        if is_json:
            self.print_json(
                {"name": folder.name, "path": folder.path, "state": folder.state, "note": folder.note}
            )
        else:
            self.stdout.write(text)

    def _once(self, path: Path, *, is_json: bool) -> int:
        folder = find_by_path(operator(), path)
        with one_at_a_time():
            report = scan_folder(folder)
        if is_json:
            self.print_json({"counts": report.counts, "again": report.again, "note": report.note})
        else:
            self.stdout.write(describe(report))
        return 1 if report.note else 0

    def _list(self, *, is_json: bool) -> None:
        rows = [_folder_row(folder) for folder in list_folders(operator())]
        was_written = WatchedFolder.objects.filter(mode=WAS_WRITTEN)
        problems = [{"file": folder.path, "why": f"it {ONLY_READ}"} for folder in was_written]
        was_written.update(mode="read")  # said once
        problems += [
            {"file": str(Path(file.folder.path) / file.path), "why": file.problem}
            for file in WatchedFile.objects.exclude(problem="")
            .select_related("folder")
            .order_by("folder", "path")
        ]
        if is_json:
            self.print_json(
                {"folders": [dict(zip(HEADER, row, strict=True)) for row in rows], "problems": problems}
            )
            return
        if not rows:
            self.stdout.write("No folder is watched. 'loci watch DIR --group NAME' begins.")
            return
        self.print_table([[str(cell) for cell in row] for row in rows], header=HEADER)
        for each in problems:
            self.stdout.write(f"{each['file']}: {each['why']}")


def _folder_row(folder: WatchedFolder) -> tuple[object, ...]:
    files = WatchedFile.objects.filter(folder=folder, gone_since=None).aggregate(count=Count("key"))["count"]
    sections = WatchedSection.objects.filter(file__folder=folder, gone_since=None).count()
    return folder.path, folder.group.slug, folder.state, files, sections, folder.note


def describe(report: FolderReport) -> str:
    """What a look through a folder did, in words."""
    done = ", ".join(f"{count:,} {name}" for name, count in report.counts.items()) or "Nothing has changed"
    later = " A file is being written; look again." if report.again else ""
    return report.note or f"{done}.{later}"
