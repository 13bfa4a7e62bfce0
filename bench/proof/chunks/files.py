"""Proof: a repository of ten thousand files is read as evidence within bounds, and memories are recalled as before."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

from bench.proof.home import Home, make_home
from bench.proof.proof import Finding, ProofError, Workshop

MAX_RSS_MB: Final = 900
MIN_FOUND: Final = 0.9  # of the questions, the file among the five that are shown
WORDS: Final = [
    "harbour",
    "lantern",
    "gravel",
    "copper",
    "signal",
    "orchard",
    "cellar",
    "granite",
    "pigeon",
    "timber",
    "kettle",
    "marble",
    "anchor",
    "barley",
    "cinder",
    "falcon",
    "glacier",
    "hammer",
    "island",
    "jasper",
    "kernel",
    "ladder",
    "meadow",
    "needle",
    "otter",
    "pepper",
    "quartz",
    "ribbon",
    "saddle",
    "tunnel",
    "umber",
    "velvet",
    "willow",
]
WORK: Final = "bench.proof.chunks.files_work"


def prove_artifacts(workshop: Workshop) -> Finding:
    """Read a made repository twice, change a few of its files, and ask before and after."""
    count = workshop.pick(10_000, 60)
    folder = workshop.folder / "repository"
    facts = write_repository(folder, count)
    home = make_home(workshop.folder / "home")
    before = ask(home, facts, memories=workshop.pick(100, 20))
    text, text_s, text_mb = ingest(home, folder, "--later")
    vectors, vectors_s, vectors_mb = ingest(home, folder)
    again, again_s, _ = ingest(home, folder)
    for name in list(facts)[: count // 100 or 1]:
        (folder / name).write_text((folder / name).read_text() + "\nA line that is new.\n")
    changed, changed_s, _ = ingest(home, folder)
    after = ask(home, facts, memories=0)
    database = (home.path / "memory.db").stat().st_size / 2**20
    numbers = {
        "files read": text["files"]["new"],
        "chunks": text["chunks"]["added"],
        "read, split, guarded and indexed by words": f"{text_s:.0f} s, {count / text_s:.0f} files/s",
        "peak memory of that": f"{text_mb:.0f} MB",
        "vectors computed": f"{vectors_s:.0f} s, {vectors['embedded'] / vectors_s:.0f} chunks/s",
        "peak memory of that, with the model": f"{vectors_mb:.0f} MB",
        "the same again, nothing changed": f"{again_s:.1f} s",
        "one file in a hundred changed": f"{changed_s:.1f} s",
        "database": f"{database:.0f} MB",
        "recall of memories, before": f"{before['memories_ms']:.1f} ms",
        "recall of memories, beside the files": f"{after['memories_ms']:.1f} ms",
        "recall of memories and files": f"{after['both_ms']:.1f} ms",
        "questions whose file was shown": f"{after['found']:.0%}",
    }
    return Finding(numbers, tuple(find_faults(before, after, again, changed, text_mb, vectors_mb, count)))


def find_faults(
    before: Any, after: Any, again: Any, changed: Any, text_mb: float, vectors_mb: float, count: int
) -> list[str]:
    """What speaks against the claim."""
    faults = []
    if before["answers"] != after["answers"]:
        faults.append("an answer of memories changed with the files beside it")
    if again["files"] != {"unchanged": count}:
        faults.append(f"a second run was not without effect: {again['files']}")
    if changed["files"].get("changed") != (count // 100 or 1):
        faults.append(f"other files changed than were: {changed['files']}")
    if max(text_mb, vectors_mb) > MAX_RSS_MB:
        faults.append(f"more than {MAX_RSS_MB} MB of memory")
    if after["found"] < MIN_FOUND:
        faults.append(f"only {after['found']:.0%} of the questions found their file")
    return faults


def write_repository(folder: Path, count: int) -> dict[str, str]:
    """Write files of three kinds, each with a fact of its own; a question by the path of each file with one."""
    chosen = random.Random(7)
    facts: dict[str, str] = {}
    (folder / ".git").mkdir(
        parents=True, exist_ok=True
    )  # else the root is the repository that this folder is in
    for number in range(count):
        a, b, c = chosen.sample(WORDS, 3)
        code = f"{a}{number}"
        kind = number % 3
        name = f"part{number % 40}/{a}_{b}_{number}.{('md', 'py', 'txt')[kind]}"
        prose = " ".join(chosen.choices(WORDS, k=40))
        text = (
            f"# The {a} of {b}\n\n## Where {code} runs\n\nThe {code} service runs in the {b} {c} room.\n\n## Rest\n\n{prose}.\n",
            f'"""The {a} of {b}."""\n\n\ndef open_{code}(door):\n    """Open the {b} {c} door of {code}."""\n    return door.{c}()\n\n\ndef rest():\n    """{prose}"""\n',
            f"Notes on {code}.\n\nThe key of {code} hangs behind the {b} {c}.\n\n{prose}.\n",
        )[kind]
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        facts[name] = (f"Where does {code} run?", f"Which door does open_{code} open?", f"Where is the key of {code}?")[kind]  # fmt: skip
    return facts


def ingest(home: Home, folder: Path, *options: str) -> tuple[Any, float, float]:
    """The command's answer, its seconds and its peak memory in MB."""
    began = time.perf_counter()
    command = ("ingest", str(folder), "--group", "proof", "--json", *options)
    process = home.start(*command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise ProofError(f"loci ingest ended with {status}: {out[-500:]}")
    return json.loads(out.splitlines()[-1]), time.perf_counter() - began, usage.ru_maxrss / 1024


def ask(home: Home, facts: dict[str, str], *, memories: int) -> Any:
    """What files_work measures in a process of its own."""
    sent = json.dumps(
        {"memories": memories, "questions": dict(list(facts.items())[:: max(1, len(facts) // 100)])}
    )
    process = subprocess.run(
        [sys.executable, "-m", WORK], env=home.environment, input=sent, capture_output=True, text=True, check=False,
        cwd=Path(__file__).parents[3],
    )  # fmt: skip
    if process.returncode:
        raise ProofError(process.stderr[-2000:])
    return json.loads(process.stdout.splitlines()[-1])
