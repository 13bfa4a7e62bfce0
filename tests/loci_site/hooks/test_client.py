"""`loci-hook` as a client runs it: as a process, against a real socket that answers, hangs, drips, fails or is not there."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from loci_site.hooks import client as hook_client

CONTEXT = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "<loci>brass</loci>"}}
# The servers here take 30 seconds; the program waits for one at most, and its start takes time on a busy machine.
DELAY_S = 10.0
PATIENT = "from loci_site.hooks import client as c; c.TOTAL_S = c.CONNECT_S = c.STDIN_S = 60.0; c.main()"
Behave = Callable[[socket.socket], None]


def reply(status: str, body: Any = CONTEXT, *, chunked: bool = False) -> Behave:
    """A server that answers at once."""

    def behave(link: socket.socket) -> None:
        text = json.dumps(body).encode()
        head = f"HTTP/1.1 {status}\r\n" + ("Transfer-Encoding: chunked\r\n\r\n" if chunked else "\r\n")
        link.sendall(head.encode() + (b"%x\r\n%s\r\n0\r\n\r\n" % (len(text), text) if chunked else text))

    return behave


def hang(link: socket.socket) -> None:
    time.sleep(30)


def drip(link: socket.socket) -> None:
    for letter in b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 300:
        link.sendall(bytes([letter]))
        time.sleep(0.1)


@dataclass
class Server:
    """A server of one thread that keeps what it was sent and behaves as it is told."""

    behave: Behave
    received: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.door = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.door.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                link, _ = self.door.accept()
            except OSError:
                return
            with link:
                self.answer(link)

    def answer(self, link: socket.socket) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            data += link.recv(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(next(x for x in head.split(b"\r\n") if x.startswith(b"Content-Length")).split(b": ")[1])
        while len(body) < length:
            body += link.recv(65536)
        self.received.append((head.decode(), json.loads(body)))
        with suppress(OSError):
            self.behave(link)


@dataclass(frozen=True)
class Machine:
    """A person's machine: LOCI_HOME with the hooks' settings, and a folder to work in."""

    home: Path
    folder: Path

    def connect(self, url: str, **more: Any) -> None:
        (self.home / "hooks").mkdir(parents=True, exist_ok=True)
        settings = {"url": url, "token": "loci_secret", **more}
        (self.home / "hooks" / "claude-code.json").write_text(json.dumps(settings))

    def run(
        self, event: str, sent: Any = None, *, close: bool = True, is_patient: bool = True, **env: str
    ) -> tuple[str, str, float]:
        """Standard output and error, and the seconds that it took; a patient client gives a busy machine its time."""
        payload = {"session_id": "s-1", "cwd": str(self.folder), "prompt": "p"} if sent is None else sent
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        program = ["-c", PATIENT] if is_patient else ["-m", "loci_site.hooks.client"]
        words = [sys.executable, *program, "claude-code", event]
        started = time.monotonic()
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "LOCI_HOME": str(self.home), "HOME": str(self.home), **env},
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(body)
        process.stdin.flush()
        if close:
            out, err = process.communicate(timeout=120)
        else:  # a client that forgets to close the pipe
            process.wait(timeout=120)
            assert process.stdout is not None
            assert process.stderr is not None
            out, err = process.stdout.read(), process.stderr.read()
            process.stdin.close()
            process.stdout.close()
            process.stderr.close()
        assert process.returncode == 0
        return out.decode(), err.decode(), time.monotonic() - started

    @property
    def spool(self) -> list[Any]:
        file = self.home / "hooks" / "claude-code.spool"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "work" / "ledger").mkdir(parents=True)
    return Machine(tmp_path / "home", tmp_path / "work" / "ledger")


@pytest.fixture
def serve() -> Iterator[Callable[[Behave], Server]]:
    servers: list[Server] = []

    def start(behave: Behave) -> Server:
        servers.append(Server(behave))
        return servers[-1]

    yield start
    for server in servers:
        server.door.close()


Serve = Callable[[Behave], Server]


@pytest.mark.parametrize("chunked", [False, True])
def test_the_answer_is_printed_as_it_comes(machine: Machine, serve: Serve, chunked: bool) -> None:
    server = serve(reply("200 OK", chunked=chunked))
    machine.connect(server.url)
    out, err, _ = machine.run("session-start")
    assert (json.loads(out), err) == (CONTEXT, "")
    [(head, sent)] = server.received
    assert head.startswith("POST /hooks/claude-code/session-start HTTP/1.1\r\n")
    assert "Authorization: Bearer loci_secret" in head
    assert (sent["session_id"], sent["loci"]) == ("s-1", {})


def test_nothing_is_printed_for_an_empty_answer_or_a_refusal(machine: Machine, serve: Serve) -> None:
    for behave in (reply("200 OK", {}), reply("401 Unauthorized", {"code": "x"}), reply("200 OK", [1])):
        machine.connect(serve(behave).url)
        assert machine.run("session-end")[:2] == ("", "")
    assert machine.spool == []


@pytest.mark.parametrize("behave", [hang, drip, reply("503 No", {})], ids=["hangs", "drips", "fails"])
def test_a_server_that_hangs_drips_or_fails_delays_nobody(
    machine: Machine, serve: Serve, behave: Behave
) -> None:
    machine.connect(serve(behave).url)
    out, err, took = machine.run("session-end", is_patient=False)
    assert (out, err) == ("", "")
    assert took < DELAY_S


def test_the_program_waits_for_a_second_at_most() -> None:
    assert hook_client.CONNECT_S + hook_client.STDIN_S < hook_client.TOTAL_S <= 1


def test_a_server_that_is_stopped_delays_nobody_and_gets_it_later(machine: Machine, serve: Serve) -> None:
    machine.connect("http://127.0.0.1:9")
    for event in ("prompt", "stop", "session-end", "session-start"):
        out, err, took = machine.run(event)
        assert (out, err) == ("", "")
        assert took < DELAY_S
    assert [event for event, _ in machine.spool] == ["prompt", "stop", "session-end"]
    assert (machine.home / "hooks" / "claude-code.spool").stat().st_mode & 0o077 == 0
    server = serve(reply("200 OK"))
    machine.connect(server.url)
    machine.run("session-start")
    assert machine.spool == []
    assert [sent["loci"].get("late", False) for _, sent in server.received] == [False, True, True, True]
    assert sorted(path.name for path in (machine.home / "hooks").iterdir()) == ["claude-code.json"]


def test_a_pipe_that_is_never_closed_is_no_reason_to_wait(machine: Machine, serve: Serve) -> None:
    machine.connect(serve(reply("200 OK")).url)
    out, _, took = machine.run("session-start", close=False, is_patient=False)
    assert json.loads(out) == CONTEXT
    assert took < DELAY_S


@pytest.mark.parametrize(
    "sent", [b"", b"no json", b"[]", b"7", b"\xff", b'{"cwd": 7}', b'{"workspace_roots": []}']
)
def test_nonsense_is_silent(machine: Machine, serve: Serve, sent: bytes) -> None:
    machine.connect(serve(reply("200 OK", {})).url)
    assert machine.run("session-start", sent)[:2] == ("", "")


def test_nothing_is_sent_when_switched_off(machine: Machine, serve: Serve) -> None:
    server = serve(reply("200 OK"))
    assert machine.run("prompt")[:2] == ("", "")  # not connected
    machine.connect(server.url)
    machine.run("prompt", LOCI_HOOKS="off")
    (machine.folder.parent / ".loci-ignore").touch()
    machine.run("prompt")
    machine.run("session-end")
    assert (server.received, machine.spool) == ([], [])


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_the_repository_is_told(machine: Machine, serve: Serve) -> None:
    server = serve(reply("200 OK", {}))
    machine.connect(server.url, places={str(machine.folder): "books", "elsewhere": "no"})
    git(machine.folder, "init", "-q", "-b", "main")
    git(machine.folder, "remote", "add", "origin", "https://bob:secret@git.example/firm/ledger.git")
    (machine.folder / "a.txt").write_text("one")
    git(machine.folder, "add", ".")
    git(machine.folder, "commit", "-q", "-m", "Add a", "-m", "Because of b.")
    sha = git(machine.folder, "rev-parse", "HEAD")
    (machine.folder / "a.txt").write_text("two")
    inside = machine.folder / "deep"
    inside.mkdir()
    machine.run("session-end", {"session_id": "s-1", "cwd": str(inside)})
    git(machine.folder, "worktree", "add", "-q", "-b", "other", "../tree")
    git(machine.folder, "pack-refs", "--all")
    machine.run("session-start", {"session_id": "s-1", "cwd": str(machine.folder.parent / "tree")})
    [(_, ended), (_, started)] = server.received
    where = {"origin": "https://git.example/firm/ledger.git", "head": sha}
    at = int(git(machine.folder, "log", "-1", "--format=%ct"))
    work = {"files": ["a.txt"], "commits": [{"sha": sha, "at": at, "message": "Add a\n\nBecause of b."}]}
    assert ended["loci"] == {**where, "branch": "main", "group": "books", **work}
    assert started["loci"] == {**where, "branch": "other"}


def test_every_commit_is_told_with_a_body_or_without(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    for words in (("Add a",), ("Add b", "Because of a.\n\nAnd of c."), ("Add c",)):
        paragraphs = [part for word in words for part in ("-m", word)]
        git(tmp_path, "commit", "-q", "--allow-empty", *paragraphs)
    told = hook_client.work_of(str(tmp_path), "session-end")["commits"]
    assert [each["message"] for each in told] == ["Add c", "Add b\n\nBecause of a.\n\nAnd of c.", "Add a"]
    assert [each["sha"] for each in told] == git(tmp_path, "log", "--format=%H").split()


def test_it_starts_nearly_as_fast_as_the_interpreter() -> None:
    """It may load neither Django nor what takes longer than the interpreter itself."""
    code = "import sys; from loci_site.hooks import client; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"django", "typing", "urllib", "socket", "subprocess", "pathlib", "threading", "ssl"}
