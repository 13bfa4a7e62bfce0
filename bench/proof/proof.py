"""What a proof is: a name, a claim, and a run in a folder of its own that can be stopped and gone on with."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent.parent
FOLDER = REPOSITORY / ".proof"


class ProofError(Exception):
    """The proof could not be run; the text says why and what to do."""


@dataclass(frozen=True)
class Finding:
    """What a proof found: numbers by name, in the order in which they are shown, and every fault in words."""

    numbers: dict[str, Any] = field(default_factory=dict)
    faults: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """True where nothing was found that speaks against the claim."""
        return not self.faults


@dataclass(frozen=True)
class Workshop:
    """Where one run of a proof works: its folder, its size, and what it has done so far."""

    folder: Path
    is_quick: bool = False
    database: Callable[[str], Mapping[str, str]] = lambda name: {}
    """Makes an empty database for the home of this name; gives the variables that lead to it. None: SQLite."""

    def pick(self, full: Any, quick: Any) -> Any:
        """The first for the whole proof, the second for a quick look."""
        return quick if self.is_quick else full

    def done(self) -> dict[str, Any]:
        """The steps that an earlier run finished, by name; empty where there was none."""
        try:
            state: dict[str, Any] = json.loads(self._state.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return state if state.pop("quick", None) == self.is_quick else {}

    def note(self, step: str, found: Any) -> None:
        """Remember a finished step, so that a run that is stopped after it goes on from there."""
        write_whole(self._state, json.dumps({**self.done(), step: found, "quick": self.is_quick}, indent=1))

    def forget(self) -> None:
        """Let the next run begin anew."""
        self._state.unlink(missing_ok=True)

    @property
    def _state(self) -> Path:
        return self.folder / "state.json"


@dataclass(frozen=True)
class Proof:
    """One of the long proofs."""

    name: str
    claim: str
    run: Callable[[Workshop], Finding]


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a stop in between leaves the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.new")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
