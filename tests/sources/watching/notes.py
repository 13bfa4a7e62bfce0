"""A watched folder of a test: write notes, let time pass, look through it."""

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from django.utils import timezone

from access.models import Group
from access.tokens import operator
from memories.models import Memory
from memories.types import State
from sources.models import WatchedFolder
from sources.watching.folders import add_folder
from sources.watching.scan import FolderReport, scan_folder


@dataclass
class Notes:
    """A folder that is watched for a group; each look is a minute later."""

    root: Path
    group: Group
    minutes: int = 0
    reports: list[FolderReport] = field(default_factory=list)

    @classmethod
    def watched(cls, root: Path, group: Group) -> "Notes":
        """A new folder, watched."""
        root.mkdir(exist_ok=True)
        add_folder(operator(), root, group=group.slug)
        return cls(root, group)

    @property
    def folder(self) -> WatchedFolder:
        """The folder's row as it is now."""
        return WatchedFolder.objects.select_related("group").get(path=str(self.root))

    def write(self, name: str, text: str | bytes) -> Path:
        """Write a file."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def look(self) -> dict[str, int]:
        """Look through the folder a minute later; returns the counts."""
        self.minutes += 1
        report = scan_folder(self.folder, now=timezone.now() + timedelta(minutes=self.minutes))
        self.reports.append(report)
        return report.counts

    def live(self) -> list[str]:
        """The texts that count, in order."""
        rows = Memory.objects.filter(group=self.group, state=State.LIVE).order_by("content")
        return list(rows.values_list("content", flat=True))

    def memory(self, part: str) -> Memory:
        """The live memory with these words."""
        return Memory.objects.get(group=self.group, state=State.LIVE, content__contains=part)
