"""A full disk under a running server, damaged pages, and forged backups: every answer is a sentence, and nothing is lost.

`make proof hostile` tries all of it; `make test` tries each forged backup without a process of its own (maintenance/backups).
"""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from bench.proof.client import Answer, Client
from bench.proof.home import Home, make_home
from bench.proof.server import free_port, running
from tests.maintenance.backups.forgeries import FORGERIES, forgeries
from tests.sizes import IS_WHOLE, pick, report

pytestmark = [
    pytest.mark.model,
    pytest.mark.server,
    pytest.mark.timeout(400),
    pytest.mark.usefixtures("prepared_home"),
]
DISK_MB = 48
LARGE_CHARS = pick(90_000, 30_000)  # dozens of pages; each store makes vectors of it first
GROUP = "harbour"
SMALL = "The harbour service listens on port 8443."
COMMAND_S = 120
PAGE_BYTES = 4096


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


def test_a_full_disk_is_named_and_loses_nothing(tmp_path: Path) -> None:
    """Store, read, log in and purge on a full disk; then free it."""
    with small_disk(tmp_path / "disk") as disk:
        if disk is None:
            report({"full disk": "no tmpfs here"})
            return
        home = make_home(disk / "home")
        with running(home, tmp_path / "server.log") as server, Client(server.port, home.secret) as client:
            kept = client.store(SMALL, GROUP).must()["id"]
            filler = fill(disk)
            refused = [client.store(large(number), GROUP) for number in range(pick(40, 3))]
            expect(refused, 507)
            assert [answer.text[:200] for answer in refused if not is_named(answer)] == []
            expect([client.get("/health")], 503)
            question = client.recall("Which port does the harbour use?", GROUP)
            expect([client.get(f"/api/memories/{kept}"), question], 200)
            agent = client.call_raw("store_memory", {"content": large(99), "group": GROUP}).text
            assert "[storage_full]" in agent
            for words in (("backup",), ("remember", large(98), "--group", GROUP)):
                ends_with_a_sentence(home, *words)
            filler.unlink()
            client.get("/health")
            expect([client.store(large(97), GROUP)], 201)  # there is room again
            client.store(large(97), GROUP)
            expect([client.get("/health")], 200)
        fill(disk)
        ends_with_a_sentence(home, "up", "--no-model", "--port", str(free_port()))
        (disk / "filler").unlink()
        seen = home.witness("check", sent=[SMALL, large(97)], acknowledged={SMALL: kept})
        assert seen["faults"] == []
        report({"stores refused on a full disk": len(refused), "memories after": seen["memories"]})


def large(number: int) -> str:
    """A text that needs many pages of the database."""
    return f"Note {number}:" + " word" * (LARGE_CHARS // 5)


def is_named(answer: Answer) -> bool:
    """Whether a refusal has the error of its own and a hint."""
    body = answer.json()
    return body["code"] == "storage_full" and bool(body["hint"])


def expect(answers: list[Answer], status: int) -> None:
    """Each answer has this status."""
    assert [answer.text[:200] for answer in answers if answer.status != status] == []


def fill(disk: Path) -> Path:
    """Write a file until the disk is full."""
    path = disk / "filler"
    with path.open("wb", buffering=0) as file:
        for size in (64 * 1024, PAGE_BYTES):
            with suppress(OSError):
                while True:
                    file.write(bytes(size))
    return path


def ends_with_a_sentence(home: Home, *words: str) -> None:
    """The command ends with status 1 and a sentence."""
    process = home.start(*words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        output, _ = process.communicate(timeout=COMMAND_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        raise
    assert process.returncode == 1, output[-300:]
    assert "Traceback" not in output
    assert output.strip()


def noise(database: Path) -> None:
    """Overwrite every seventh page after the first ones."""
    with database.open("r+b") as file:
        for page in range(8, database.stat().st_size // PAGE_BYTES, 7):
            file.seek(page * PAGE_BYTES)
            file.write(b"\xa5" * PAGE_BYTES)


def halve(database: Path) -> None:
    """Cut the second half off."""
    os.truncate(database, database.stat().st_size // 2)


@pytest.mark.parametrize("harm", pick((noise, halve), (halve,)))
def test_a_damaged_database_is_named(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    home = make_home(tmp_path / "home")
    home.manage("remember", SMALL, "--group", GROUP)
    harm(home.path / "memory.db")
    for command in ("backup", "doctor"):
        ends_with_a_sentence(home, command)
    report({f"damaged database, {harm.__name__}": "named"})


if IS_WHOLE:

    def test_commands_refuse_forged_backups_and_leave_nothing_of_them(tmp_path: Path) -> None:
        home, folder = make_home(tmp_path / "home"), tmp_path / "forged"
        folder.mkdir()
        home.manage("remember", SMALL, "--group", GROUP)
        good = folder / "good.zip"
        home.manage("backup", "--to", str(good))
        keys = sorted((home.path / "keys").iterdir())
        for _, path in forgeries(good, folder):
            ends_with_a_sentence(home, "restore", str(path), "--yes")
            assert sorted((home.path / "keys").iterdir()) == keys
            assert not (tmp_path / "tombstone-escaped.key").exists()
            path.unlink()
        home.manage("doctor")
        report({"forged backups refused": len(FORGERIES)})
