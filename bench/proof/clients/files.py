"""What is saved into a watched folder is in the file, the history or the Review."""

import random
import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from bench.proof.home import Home, make_home
from bench.proof.proof import Finding, ProofError, Workshop
from bench.proof.server import running

ROOMS = ("Hall", "Cellar", "Attic", "Yard")
QUIET_S = 0.6  # an editor that saves twice within half a second has replaced its own text
WAIT_S = 240
GROUP = "house"


@dataclass
class Saved:
    """Every text that somebody saved, by a number of its own; one writer of the file at a time, as one disk has it."""

    path: Path
    random: random.Random
    numbers: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def sentence(self, room: str) -> str:
        """A text that nobody has saved before."""
        with self.lock:
            number = f"number {len(self.numbers) + 1:05d} "
            self.numbers.append(number)
        return f"The {room.lower()} was measured as {number}of the wing."


def prove_files(workshop: Workshop) -> Finding:
    """A checkout, an unmount and a crowd, with a real server and its watching process."""
    faults: list[str] = []
    numbers: dict[str, object] = {}
    home = make_home(workshop.folder / "home-files")
    command(home, "group", "create", GROUP)
    root = workshop.folder / "house"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    with running(home, workshop.folder / "server.log", supervised=True) as server:
        command(home, "watch", str(root), "--group", GROUP)
        numbers |= try_checkout(home, root, workshop.pick(1000, 50), faults)
        numbers |= try_unmount(home, root, faults)
        crowd = Saved(root / "house.md", random.Random(7))
        seconds = workshop.pick(60, 8)
        try_crowd(home, server.url, crowd, seconds)
        lost = lost_texts(home, root, crowd)
        faults += [f"lost: {text}" for text in lost]
        numbers |= {
            "crowd, seconds": seconds,
            "texts saved": len(crowd.numbers),
            "of them by the agent": crowd.counts["agent"],
        }
    return Finding(numbers, tuple(faults))


def try_checkout(home: Home, root: Path, count: int, faults: list[str]) -> dict[str, object]:
    """Many files at once, as a checkout writes them: one batch, one run."""
    for number in range(count):
        path = root / f"d{number % 20}" / f"n{number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# Note\n\nShelf {number} holds {number * 7} books about subject {number % 97}.\n")
    start = time.monotonic()
    wait_for(home, lambda seen: seen["live"] >= count, "the checkout")
    runs = home.witness("files")["runs"]
    if len(runs) != 1:
        faults.append(f"the checkout was {len(runs)} batches")
    return {
        "files of a checkout": count,
        "until they are memories, seconds": round(time.monotonic() - start, 1),
    }


def try_unmount(home: Home, root: Path, faults: list[str]) -> dict[str, object]:
    """The folder goes away and an empty one is in its place, twice, while it is looked through."""
    away = root.with_name("away")
    for _ in range(2):
        (root / "d0" / "n0.md").touch()
        root.rename(away)
        root.mkdir()
        time.sleep(4)
        root.rmdir()
        away.rename(root)
        time.sleep(2)
    if doubted := home.witness("files")["disputed"]:
        faults.append(f"{doubted} memories were doubted though the folder was only away")
    return {"times that the folder was away": 2}


def try_crowd(home: Home, url: str, saved: Saved, seconds: float) -> None:
    """Two editors and an agent on one file; what each read before is what it changes."""
    saved.path.write_text(
        "# House\n\n" + "".join(f"## {room}\n\n{saved.sentence(room)}\n\n" for room in ROOMS)
    )
    wait_for(
        home, lambda seen: all(number in seen["contents"] for number in saved.numbers), "the first texts"
    )
    end = time.monotonic() + seconds
    threads = [
        threading.Thread(target=edit_file, args=(saved, end, False)),
        threading.Thread(target=edit_file, args=(saved, end, True)),
        threading.Thread(target=edit_memories, args=(saved, url, home.secret, end)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    time.sleep(8)


def edit_file(saved: Saved, end: float, by_rename: bool) -> None:
    """An editor: it reads the file, changes a section and saves; the next save of anybody comes after the debounce."""
    moves = random.Random(int(by_rename))
    while time.monotonic() < end:
        room = moves.choice(ROOMS)
        text = saved.sentence(room)
        with saved.lock:
            lines = saved.path.read_text().split("\n")
            lines[lines.index(f"## {room}") + 2] = text
            if by_rename:
                other = saved.path.with_name(".house.swp")
                other.write_text("\n".join(lines))
                other.rename(saved.path)
            else:
                saved.path.write_text("\n".join(lines))
            time.sleep(2 * QUIET_S)  # half a second is what Loci waits; then it reads
        time.sleep(moves.random() / 2)


def edit_memories(saved: Saved, url: str, secret: str, end: float) -> None:
    """The agent: it changes memories over REST."""
    moves = random.Random(3)
    headers = {"authorization": f"Bearer {secret}"}
    with httpx2.Client(base_url=url, headers=headers, timeout=60, trust_env=False) as http:
        while time.monotonic() < end:
            room = moves.choice(ROOMS)
            rows = http.get("/api/memories", params={"group": GROUP, "limit": 100}).json()["items"]
            found = [row for row in rows if f"› {room}" in row["content"]]
            if found:
                text = f"house › House › {room}: {saved.sentence(room)}"
                answer = http.patch(f"/api/memories/{found[0]['id']}", json={"content": text})
                saved.counts["agent"] += answer.status_code < 300
                if answer.status_code >= 300:
                    saved.numbers.remove(text.partition("number")[1] + text.partition("number")[2][:7])
            time.sleep(moves.random() * 2)


def lost_texts(home: Home, root: Path, saved: Saved) -> list[str]:
    """The saved texts that are neither in a file, nor in the history, nor in the Review."""
    seen = home.witness("files")
    there = "\n".join([seen["contents"], seen["queue"], *(path.read_text() for path in root.glob("*.md"))])
    return [number for number in saved.numbers if number not in there]


def wait_for(home: Home, is_so: Callable[[dict[str, Any]], bool], what: str) -> None:
    """Wait until the store says so."""
    end = time.monotonic() + WAIT_S
    while not is_so(home.witness("files")):
        if time.monotonic() > end:
            raise ProofError(f"{what} did not arrive within {WAIT_S} s.")
        time.sleep(1)


def command(home: Home, *words: str) -> None:
    """Run one of Loci's commands."""
    process = home.start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, errors = process.communicate(timeout=120)
    if process.returncode:
        raise ProofError(f"{' '.join(words)} failed: {errors}")
