"""A full disk under a running server, damaged pages, and forged backups."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from bench.proof.home import Home, make_home
from bench.proof.hostile.forge import FORGERIES, forgeries
from bench.proof.proof import REPOSITORY, Finding, ProofError, Workshop
from bench.proof.server import free_port, running

DISK_MB = 48
LARGE_CHARS = 90_000
SMALL = "The harbour service listens on port 8443."
CALL_S, COMMAND_S = 60, 120
PAGE_BYTES = 4096


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
    log = workshop.folder / "disk.log"
    log.unlink(missing_ok=True)
    faults = list[str]()
    with running(home, log) as server:
        headers = {"authorization": f"Bearer {home.secret}"}
        with httpx2.Client(base_url=server.url, headers=headers, timeout=CALL_S, trust_env=False) as http:
            kept = store(http, SMALL).json()["id"]
            filler = fill(disk)
            refused = [store(http, large(number)) for number in range(workshop.pick(40, 3))]
            faults += expect(refused, 507, "a store on the full disk")
            faults += [
                f"not named: {each.text[:200]}"
                for each in refused
                if each.status_code == 507 and not is_named(each)
            ]
            health = http.get("/health")
            faults += expect([health], 503, "/health on the full disk")
            reading = [http.get(f"/api/memories/{kept}"), recall(http)]
            faults += expect(reading, 200, "reading on the full disk")
            agent = call_tool(http, large(99))
            if "[storage_full]" not in agent:
                faults.append(f"an agent was told: {agent[:200]}")
            faults += [
                command(home, *words)
                for words in (("backup",), ("remember", large(98), "--group", "harbour"))
            ]
            filler.unlink()
            after = [http.get("/health"), store(http, large(97)), store(http, large(97)), http.get("/health")]
            faults += expect([after[1]], 201, "a store after there was room again")
            faults += expect([after[3]], 200, "/health after there was room again")
    fill(disk)
    faults.append(command(home, "up", "--no-model", "--port", str(free_port())))
    (disk / "filler").unlink()
    seen = home.witness("check", {"sent": [SMALL, large(97)], "acknowledged": {SMALL: kept}})
    numbers = {"stores refused on a full disk": len(refused), "memories after": seen["memories"]}
    return numbers, [*filter(None, faults), *seen["faults"]]


def store(http: httpx2.Client, content: str) -> httpx2.Response:
    """Store a text."""
    return http.post("/api/memories", json={"content": content, "group": "harbour", "scope": "group"})


def recall(http: httpx2.Client) -> httpx2.Response:
    """Ask for what is stored."""
    return http.post("/api/recall", json={"query": "Which port does the harbour use?", "group": "harbour"})


def call_tool(http: httpx2.Client, content: str) -> str:
    """The answer that an agent gets when it stores a text."""
    params = {"name": "store_memory", "arguments": {"content": content, "group": "harbour"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    accept = {"accept": "application/json, text/event-stream"}
    return http.post("/mcp", json=request, headers=accept).text


def large(number: int) -> str:
    """A text that needs many pages of the database."""
    return f"Note {number}:" + " word" * (LARGE_CHARS // 5)


def is_named(response: httpx2.Response) -> bool:
    """Whether a refusal has the error of its own and a hint."""
    body = response.json()
    return body["code"] == "storage_full" and bool(body["hint"])


def expect(responses: list[httpx2.Response], status: int, what: str) -> list[str]:
    """A fault for each response with another status."""
    return [f"{what} got {r.status_code}: {r.text[:200]}" for r in responses if r.status_code != status]


def fill(disk: Path) -> Path:
    """Write a file until the disk is full."""
    path = disk / "filler"
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(64 * 1024))
        except OSError:
            pass
        try:
            while True:
                file.write(bytes(PAGE_BYTES))
        except OSError:
            pass
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
        run_command(home, "remember", SMALL, "--group", "harbour")
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
    run_command(home, "remember", SMALL, "--group", "harbour")
    good = folder / "good.zip"
    run_command(home, "backup", "--to", str(good))
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


def run_command(home: Home, *words: str) -> None:
    """Run a command that must succeed."""
    done = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=REPOSITORY,
        env=home.environment,
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )
    if done.returncode != 0:
        raise ProofError(f"{words[0]} ended with {done.returncode}: {done.stderr[-500:]}")
