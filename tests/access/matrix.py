"""Reads matrix.txt: the rule of each interface, and its outcome for each caller at each place."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("matrix.txt")
PLACES = ("own", "foreign", "global", "missing")


@dataclass(frozen=True)
class Face:
    """One line of the list: the interface and its request."""

    kind: str
    name: str
    rule: str
    sent: str = ""

    @property
    def declared(self) -> str:
        """The face as the code names it: without what a line fills in."""
        if self.kind == "page":
            return self.name
        return re.sub(r"\{(\w+)=[^}]*\}", r"{\1}", self.name).split("?")[0]

    def body(self, place: dict[str, str]) -> Any:
        return json.loads(filled(self.sent, place)) if self.sent else None


@dataclass(frozen=True)
class Matrix:
    callers: tuple[str, ...]
    outcomes: dict[tuple[str, str], dict[str, str]]  # rule, place → caller → outcome
    faces: tuple[Face, ...]

    def of(self, *kinds: str) -> list[Face]:
        return [face for face in self.faces if face.kind in kinds]

    def places(self, rule: str) -> list[str]:
        return [place for place in PLACES if (rule, place) in self.outcomes]


def filled(text: str, place: dict[str, str]) -> str:
    return re.sub(r"\$(\w+)", lambda found: place[found[1]], text)


@cache
def read_matrix() -> Matrix:
    callers: tuple[str, ...] = ()
    outcomes, faces, section = {}, [], ""
    for line in PATH.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if line.startswith("["):
            section = words[0].strip("[]")
        elif section == "rules" and not callers:
            callers = tuple(words[2:])
        elif section == "rules":
            rule, place, *codes = words
            assert len(codes) == len(callers), line
            assert (rule, place) not in outcomes, line
            outcomes[rule, place] = dict(zip(callers, codes, strict=True))
        else:
            head, rule, *sent = (part.strip() for part in re.split(r"\s\|\s", line, maxsplit=2))
            kind, _, name = head.partition(" ")
            faces.append(Face(kind, " ".join(name.split()), rule, *sent))
    return Matrix(callers, outcomes, tuple(faces))
