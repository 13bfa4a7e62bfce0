"""Real servers: one that is killed between a write and its answer, and two that get the same write at once."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from storage.sqlite.base import connect_to_copy
from tests.loci_site.mcp.processes import Installation, install
from tests.settings import REPOSITORY

pytestmark = [pytest.mark.server, pytest.mark.model]


@contextmanager
def server(installed: Installation) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """A server's address and process."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        command = [sys.executable, "-m", "uvicorn", "tests.loci_site.server.dying:application"]
        process = subprocess.Popen(
            [*command, "--fd", str(listening.fileno())],
            cwd=REPOSITORY,
            env=installed.environment,
            pass_fds=[listening.fileno()],
        )
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}", process
        finally:
            process.terminate()
            process.wait()


def store(url: str, installed: Installation, content: str, key: str, **headers: str) -> Any:
    return httpx2.post(
        f"{url}/api/memories",
        json={"content": content, "group": "ledger", "scope": "group"},
        headers={"Authorization": f"Bearer {installed.secret}", "Idempotency-Key": key} | headers,
        timeout=120,
    )


def rows_of(installed: Installation) -> dict[str, int]:
    """The numbers of memories and of log rows by operation."""
    with closing(connect_to_copy(installed.home / "memory.db")) as database:
        count = "SELECT count(*) FROM memory_log WHERE operation = ?"
        [(memories,)] = database.execute("SELECT count(*) FROM memories_memory")
        rows = {name: database.execute(count, [name]).fetchone()[0] for name in ("store", "reinforce")}
    return {"memories": memories, **rows}


def test_a_server_that_is_killed_after_the_commit_writes_once(tmp_path: Path) -> None:
    installed = install(tmp_path)
    with server(installed) as (url, process):
        with pytest.raises(httpx2.TransportError):
            store(url, installed, "The gate opens at seven.", "once", **{"X-Die": "yes"})
        process.wait(timeout=30)
        assert process.returncode == -9
    assert rows_of(installed) == {"memories": 1, "store": 1, "reinforce": 0}
    with server(installed) as (url, _):
        again = store(url, installed, "The gate opens at seven.", "once")
    assert (again.status_code, again.headers["Idempotent-Replay"], again.json()["outcome"]) == (
        201,
        "true",
        "created",
    )
    assert rows_of(installed) == {"memories": 1, "store": 1, "reinforce": 0}


def test_two_servers_that_get_the_same_write_at_once_write_once(tmp_path: Path) -> None:
    installed = install(tmp_path)
    with ExitStack() as stack, ThreadPoolExecutor(6) as pool:
        urls = [stack.enter_context(server(installed))[0] for _ in range(2)]
        for number in range(5):
            content, key = f"Gate {number} opens at seven.", f"key-{number}"
            answers = list(pool.map(lambda url: store(url, installed, content, key), urls * 3))  # noqa: B023
            assert {answer.status_code for answer in answers} <= {201, 409}
            created = [answer for answer in answers if answer.status_code == 201]
            assert len({answer.json()["id"] for answer in created}) == 1
            assert sum("Idempotent-Replay" not in answer.headers for answer in created) == 1
    assert rows_of(installed) == {"memories": 5, "store": 5, "reinforce": 0}
