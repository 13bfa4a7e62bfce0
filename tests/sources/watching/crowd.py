"""Two editors and an agent on one file, one move after the other, in an order that a seed decides."""

import random
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from access.errors import LociError
from access.tokens import operator
from memories.draft import EditDraft
from memories.lifecycle.edit import edit
from memories.models import Memory, Proposal
from memories.types import State
from tests.sources.watching.notes import Notes

ROOMS = ("Hall", "Cellar", "Attic")


@dataclass
class Crowd:
    """The crowd and what each has ever saved. Every saved text has a number of its own, by which it is looked for."""

    notes: Notes
    seed: int
    count: int = 0
    saved: list[str] = field(default_factory=list)
    buffers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        texts = "".join(f"## {room}\n\n{self.sentence(room)}\n\n" for room in ROOMS)
        self.path: Path = self.notes.write("house.md", f"# House\n\n{texts}")
        self.notes.look()

    def sentence(self, room: str) -> str:
        """A text that nobody has saved before."""
        self.count += 1
        text = f"The {room.lower()} was measured as number {self.count:05d} of the {self.random.choice(['north', 'south'])} wing."
        self.saved.append(f"number {self.count:05d} ")
        return text

    def move(self) -> None:
        """One of them does something, or Loci looks."""
        self.random.choice(
            [self.editor_saves, self.editor_saves, self.agent_edits, self.notes.look, self.notes.look]
        )()

    def editor_saves(self) -> None:
        """An editor changes a section of the file as it is now, and Loci gets the half second that it asks for."""
        lines = self.path.read_text().split("\n")
        room = self.random.choice(ROOMS)
        at = lines.index(f"## {room}")
        lines[at + 2] = self.sentence(room)
        if self.random.random() < 0.5:
            self.path.write_text("\n".join(lines))
        else:
            other = self.path.with_name(".house.swp")
            other.write_text("\n".join(lines))
            other.rename(self.path)
        if self.random.random() < 0.7:
            self.agent_edits()
        self.notes.look()

    def agent_edits(self) -> None:
        """The agent changes a memory."""
        live = Memory.objects.filter(state=State.LIVE, source="file:notes").order_by("key")
        memory = self.random.choice(list(live))
        room = memory.content.split(": ")[0].split(" › ")[-1]
        with suppress(LociError):
            edit(operator(), memory.id, EditDraft(f"house › House › {room}: {self.sentence(room)}"))

    def settle(self) -> None:
        """Loci looks until nothing changes."""
        for _ in range(3):
            self.notes.look()

    def lost(self) -> list[str]:
        """The saved texts that are neither in the file, nor in the history, nor in the queue."""
        places = [path.read_text() for path in self.path.parent.iterdir()]
        places += Memory.objects.values_list("content", flat=True)
        places += [str(each) for each in Proposal.objects.values_list("arguments", flat=True)]
        there = "\n".join(places)
        return [text for text in self.saved if text not in there]
