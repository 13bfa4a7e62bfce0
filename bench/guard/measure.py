"""Count what the guard holds in lists: `python -m bench.guard.measure [corpus.jsonl …]`.

`dev/` was looked at while rules were written, `held/` was only counted. A line of a .txt is a text, after its language and a tab
where it has one; a .jsonl has an object with `text` on each line.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from guard import Door, find, has_instruction

LISTS: Final = Path(__file__).parent
# The doors that lists are counted at; the other lists are counted as an agent's and as from outside.
DOORS: Final = {
    "outside": (Door.OUTSIDE,),
    "persons_rules": (Door.PERSON, Door.PROMPT),
    "agents_notes": (Door.AGENT, Door.JOB),
}


def read(path: Path) -> Iterator[str]:
    """The texts of a list."""
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)["text"] if path.suffix == ".jsonl" else line.rpartition("\t")[2]


def held(texts: list[str], door: Door) -> int:
    """How many of the texts wait for a person at a door."""
    return sum(has_instruction(each.kind for each in find(text, door)) for text in texts)


def main() -> None:
    """Print a line for each list and door."""
    for path in [*sorted(LISTS.glob("dev/*")), *sorted(LISTS.glob("held/*")), *map(Path, sys.argv[1:])]:
        texts = list(read(path))
        for door in DOORS.get(path.stem, (Door.AGENT, Door.OUTSIDE)):
            count = held(texts, door)
            print(
                f"{path.parent.name}/{path.name}: {door} holds {count} of {len(texts)} ({count / len(texts):.2%})"
            )


if __name__ == "__main__":
    main()
