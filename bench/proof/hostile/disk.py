"""Proof: nobody stops another; a full disk under a running server, damaged pages and forged backups do no harm."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.proof.client import Answer, Client
from bench.proof.home import Home, make_home
from bench.proof.hostile.forge import FORGERIES, forgeries
from bench.proof.hostile.load import prove_load
from bench.proof.proof import Finding, Workshop
from bench.proof.server import free_port, running

DISK_MB = 48
LARGE_CHARS = 90_000
GROUP = "harbour"
SMALL = "The harbour service listens on port 8443."
COMMAND_S = 120
PAGE_BYTES = 4096


def prove_hostile(workshop: Workshop) -> Finding:
    """Every part in a home of its own; a stopped run goes on with the part that it was in."""
    found: dict[str, Any] = workshop.steps(
        {"load": lambda: asdict(prove_load(workshop)), "disk": lambda: asdict(prove_disk(workshop))}
    )
    return Finding.of(found, {name: n for part in found.values() for name, n in part["numbers"].items()})


def prove_disk(workshop: Workshop) -> Finding:
    """Fill a small disk, damage a database, and restore forged backups; every answer is a sentence and nothing is lost."""
    with small_disk(workshop.folder / "disk") as disk:
        numbers, faults = (
            full_disk(workshop, disk) if disk is not None else ({"full disk": "no tmpfs here"}, [])
        )
    # In small each forged backup is tried without a process of its own: tests/maintenance/backups/test_forged.py.
    for part in workshop.pick((damaged_store, forged_backups), (damaged_store,)):
        more, wrong = part(workshop)
        numbers |= more
        faults += wrong
    return Finding(numbers, tuple(faults))


@contextmanager
def small_disk(folder: Path) -> Iterator[Path | None]:
    """A tmpfs of DISK_MB, where one may be mounted; else None."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=0700", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def full_disk(workshop: Workshop, disk: Path) -> tuple[dict[str, Any], list[str]]:
    """Store, read, log in and purge on a full disk; then free it."""
    home = make_home(disk / "home")
    faults = list[str]()
    with running(home, workshop.log("disk.log")) as server, Client(server.port, home.secret) as client:
        kept = client.store(SMALL, GROUP).must()["id"]
        filler = fill(disk)
        refused = [client.store(large(number), GROUP) for number in range(workshop.pick(40, 3))]
        faults += expect(refused, 507, "a store on the full disk")
        faults += [f"not named: {r.text[:200]}" for r in refused if r.status == 507 and not is_named(r)]
        faults += expect([client.get("/health")], 503, "/health on the full disk")
        question = client.recall("Which port does the harbour use?", GROUP)
        faults += expect([client.get(f"/api/memories/{kept}"), question], 200, "reading on the full disk")
        agent = client.call_raw("store_memory", {"content": large(99), "group": GROUP}).text
        if "[storage_full]" not in agent:
            faults.append(f"an agent was told: {agent[:200]}")
        for words in (("backup",), ("remember", large(98), "--group", GROUP)):
            faults.append(command(home, *words))
        filler.unlink()
        client.get("/health")
        faults += expect([client.store(large(97), GROUP)], 201, "a store after there was room again")
        client.store(large(97), GROUP)
        faults += expect([client.get("/health")], 200, "/health after there was room again")
    fill(disk)
    faults.append(command(home, "up", "--no-model", "--port", str(free_port())))
    (disk / "filler").unlink()
    seen = home.witness("check", sent=[SMALL, large(97)], acknowledged={SMALL: kept})
    numbers = {"stores refused on a full disk": len(refused), "memories after": seen["memories"]}
    return numbers, [*filter(None, faults), *seen["faults"]]


def large(number: int) -> str:
    """A text that needs many pages of the database."""
    return f"Note {number}:" + " word" * (LARGE_CHARS // 5)


def is_named(answer: Answer) -> bool:
    """Whether a refusal has the error of its own and a hint."""
    body = answer.json()
    return body["code"] == "storage_full" and bool(body["hint"])


def expect(answers: list[Answer], status: int, what: str) -> list[str]:
    """A fault for each answer with another status."""
    return [f"{what} got {r.status}: {r.text[:200]}" for r in answers if r.status != status]


def fill(disk: Path) -> Path:
    """Write a file until the disk is full."""
    path = disk / "filler"
    with path.open("wb", buffering=0) as file:
        for size in (64 * 1024, PAGE_BYTES):
            with suppress(OSError):
                while True:
                    file.write(bytes(size))
    return path


def command(home: Home, *words: str) -> str:
    """A fault unless the command ends with status 1 and a sentence."""
    process = home.start(*words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        output, _ = process.communicate(timeout=COMMAND_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        return f"{words[0]} did not end"
    if process.returncode == 1 and "Traceback" not in output and output.strip():
        return ""
    return f"{words[0]} ended with {process.returncode}: {output[-300:]}"


def damaged_store(workshop: Workshop) -> tuple[dict[str, Any], list[str]]:
    """Overwrite pages of a database with noise, and cut another in half: commands say so."""
    faults = list[str]()
    harms = workshop.pick((noise, halve), (halve,))
    for number, harm in enumerate(harms):
        home = make_home(workshop.folder / f"home-damaged-{number}")
        home.manage("remember", SMALL, "--group", GROUP)
        harm(home.path / "memory.db")
        faults += [command(home, *words) for words in (("backup",), ("doctor",))]
    return {"damaged databases": len(harms)}, [*filter(None, faults)]


def noise(database: Path) -> None:
    """Overwrite every seventh page after the first ones."""
    with database.open("r+b") as file:
        for page in range(8, database.stat().st_size // PAGE_BYTES, 7):
            file.seek(page * PAGE_BYTES)
            file.write(b"\xa5" * PAGE_BYTES)


def halve(database: Path) -> None:
    """Cut the second half off."""
    os.truncate(database, database.stat().st_size // 2)


def forged_backups(workshop: Workshop) -> tuple[dict[str, Any], list[str]]:
    """Restore backups that were made to do harm, into a store of its own and into a new home."""
    home, folder = make_home(workshop.folder / "home-forged"), workshop.folder / "forged"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    home.manage("remember", SMALL, "--group", GROUP)
    good = folder / "good.zip"
    home.manage("backup", "--to", str(good))
    keys = sorted((home.path / "keys").iterdir())
    faults = list[str]()
    for name, path in forgeries(good, folder):
        fault = command(home, "restore", str(path), "--yes")
        if fault:
            faults.append(f"{name}: {fault}")
        if (
            sorted((home.path / "keys").iterdir()) != keys
            or (home.path.parent / "tombstone-escaped.key").exists()
        ):
            faults.append(f"{name}: files were left")
        path.unlink()
    if fault := command(home, "doctor"):
        faults += [] if "ended with 0" in fault else [fault]
    shutil.rmtree(folder)
    return {"forged backups refused": len(FORGERIES)}, faults
