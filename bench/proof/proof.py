"""What a proof is: a name, a claim, and a run in a folder of its own that can be stopped and gone on with."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

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

    @classmethod
    def of(cls, found: Mapping[str, dict[str, Any]], numbers: dict[str, Any] | None = None) -> "Finding":
        """The finding of several steps: their faults with the step's name, and their numbers unless others are told.

        Numbers of rounds, such as the steps "web 0" and "web 1", are added up.
        """
        if numbers is None:
            numbers = {}
            for step, seen in found.items():
                kind = step.rstrip("0123456789 ")
                own = seen["numbers"] if kind == step else {"rounds": 1, **seen["numbers"]}
                for name, n in own.items():
                    known = numbers.get(f"{kind}: {name}")
                    numbers[f"{kind}: {name}"] = n if known is None else known + n
        return cls(numbers, tuple(f"{step}: {fault}" for step in found for fault in found[step]["faults"]))


@dataclass(frozen=True)
class Workshop:
    """Where one run of a proof works: its folder, its size, and what it has done so far."""

    folder: Path
    is_quick: bool = False
    database: Callable[[str], Mapping[str, str]] = lambda name: {}
    """Makes an empty database for the home of this name; returns the variables that lead to it. None: SQLite."""

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

    def steps(self, steps: Mapping[str, Callable[[], Any]], *, at_once: int = 1) -> dict[str, Any]:
        """What each step found, by its name; steps that an earlier run finished are not run again."""
        found = {name: value for name, value in self.done().items() if name in steps}
        left = {name: step for name, step in steps.items() if name not in found}
        with tqdm(total=len(steps), initial=len(found), desc=self.folder.name, unit="step") as bar:
            for name, value in run_all(left, at_once=at_once):
                found[name] = value
                self.note(name, value)
                bar.update()
        return {name: found[name] for name in steps}

    @property
    def _state(self) -> Path:
        return self.folder / "state.json"


@dataclass(frozen=True)
class Proof:
    """One of the long proofs."""

    name: str
    claim: str
    run: Callable[[Workshop], Finding]


def run_all(steps: Mapping[str, Callable[[], Any]], *, at_once: int) -> Any:
    """Run the steps, in order or several at once; yields the name and the value of each as it ends."""
    if at_once == 1:
        yield from ((name, step()) for name, step in steps.items())
        return
    with ThreadPoolExecutor(at_once) as pool:
        running = {pool.submit(step): name for name, step in steps.items()}
        try:
            yield from ((running[done], done.result()) for done in as_completed(running))
        finally:
            pool.shutdown(cancel_futures=True)


def run_tests(file: str, *options: str, **variables: str) -> tuple[bool, str]:
    """Run a file of the suite; whether all passed, and what pytest said. Raises ProofError where it could not be run."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "timeout=0", file, *options],
        cwd=REPOSITORY,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise ProofError(f"{file} could not be run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 0, done.stdout


def wait_until(holds: Callable[[], Any], fault: str, *, seconds: float = 120, every_s: float = 0.05) -> Any:
    """Wait until something holds; its value. Raises ProofError with `fault` where it does not come to that."""
    deadline = time.monotonic() + seconds
    while not (value := holds()):
        if time.monotonic() > deadline:
            raise ProofError(fault)
        time.sleep(every_s)
    return value


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a stop in between leaves the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.new")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
