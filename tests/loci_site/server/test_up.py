"""`up`: what it says, what it leaves alone, and what becomes of its processes."""

import json
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from access.errors import Unavailable
from loci_site.server.socket import bound_socket
from loci_site.server.supervisor import (
    DEATHS_IN_A_ROW,
    LoadWatch,
    ServerPart,
    Supervisor,
    describe_exit,
    restart_wait_s,
)
from tests.loci_site.server.running import (
    WEB_READY,
    WORKER_READY,
    Running,
    children_of,
    found,
    free_port,
    held,
    manage,
    running,
)

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found and held by Linux's means"),
]


_PREPARED = [sys.executable, "-c", ""]
_PREPARING = ServerPart("preparing", [sys.executable, "-c", "import time; time.sleep(60)"])


@dataclass(frozen=True)
class First:
    """The first start of a home: where it was, what it said, and its health."""

    home: Path
    port: int
    said: str
    status: int
    health: dict[str, Any]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> First:
    """Start in a home that was not there, and stop."""
    home = tmp_path_factory.mktemp("homes") / "home"
    with running(home) as up:
        return First(home, up.port, up.output, *up.health())


@pytest.fixture(scope="module")
def started(first: First) -> Path:
    """A home that was started once."""
    return first.home


def test_the_first_start_says_all_that_a_person_needs(first: First) -> None:
    said = first.said
    assert f"Loci is running at http://127.0.0.1:{first.port}\n" in said
    password = found(r"user admin, password (\S+)", said)
    secret = found(r'"Authorization": "Bearer (loci_[^"]+)"', said)
    config = json.loads(found(r"\n  (\{.*\})\n", said))
    url = f"http://127.0.0.1:{first.port}/mcp"
    assert "manage.py connect claude-code\n" in said
    assert config["mcpServers"]["loci"] == {
        "type": "http",
        "url": url,
        "headers": {"Authorization": f"Bearer {secret}"},
    }
    assert len(password) == 23  # four parts of five characters, three dashes
    assert said.count(password) == 1
    assert f"Data       {first.home}" in said
    assert "Recall works by keywords until this succeeds" in said
    assert "manage.py token create NAME" in said
    assert "manage.py token create operator --admin" in said
    assert (first.status, first.health["status"], first.health["checks"]["model"]["ok"]) == (
        200,
        "degraded",
        False,
    )
    assert first.home.stat().st_mode & 0o777 == 0o700


@pytest.fixture(scope="module")
def tokens(started: Path) -> str:
    """The list of tokens after the first start."""
    return manage(started, "token", "list", "--json").stdout


def test_the_first_token_can_read_write_and_make_groups_and_has_no_end(tokens: str) -> None:
    (token,) = json.loads(tokens)
    assert token["scopes"] == ["create-group", "read", "write"]
    assert (token["name"], token["user"], token["groups"], token["state"]) == (
        "first",
        "admin",
        None,
        "valid",
    )
    assert token["expires_at"] is None


@pytest.fixture(scope="module")
def again(started: Path, tokens: str) -> Iterator[Running]:
    """The second start, which goes on running, with a worker; the tokens were listed before."""
    with running(started, with_worker=True) as up:
        yield up


def test_a_second_start_changes_nothing_and_shows_no_secret(
    again: Running, started: Path, tokens: str
) -> None:
    said = again.output
    assert not re.search(r"loci_(?!site)", said.replace(str(started), ""))
    assert "Prepared the database" not in said
    assert "token create NAME" in said
    assert "changepassword admin" in said
    assert manage(started, "token", "list", "--json").stdout == tokens
    rows = json.loads(manage(started, "audit", "show", "--json").stdout)["rows"]
    by_worker = {"backup", "run", "maintenance"}
    others = sorted(row["operation"] for row in rows if row["operation"] not in by_worker)
    assert others == ["group", "member", "token"]  # the group everyone, the admin in it, the first token


def test_a_second_up_in_the_same_home_says_which_one_runs(again: Running, started: Path) -> None:
    answer = manage(started, "up", "--port", str(free_port()))
    assert answer.returncode == 1
    assert (
        f"Loci is already running with the data in {started} (process {again.process.pid})" in answer.stderr
    )
    assert again.health()[0] == 200


def test_a_token_made_while_it_runs_names_its_real_address(again: Running, started: Path) -> None:
    assert again.port != 8000  # which a command without its settings would name
    said = manage(started, "token", "create", "passer-by").stdout
    assert f"http://127.0.0.1:{again.port}/mcp" in said
    assert ":8000" not in said


def test_a_killed_web_process_is_started_again(again: Running) -> None:
    first = again.child("server")
    os.kill(first, signal.SIGKILL)
    assert again.read_until("The web process ended (killed by SIGKILL); it restarts in 1 s")
    status, _ = again.health()
    assert status == 200
    assert again.child("server") != first


def test_the_worker_gives_way_to_the_web_process(again: Running) -> None:
    """Linux shares the cores among sessions first: a niceness within the worker's own session says nothing to others."""
    web, worker = again.child("server"), again.child("worker")
    assert os.getpriority(os.PRIO_PROCESS, worker) > os.getpriority(os.PRIO_PROCESS, web)
    sessions = [Path(f"/proc/{pid}/autogroup") for pid in (web, worker)]
    if all(session.exists() for session in sessions):  # a Linux that groups by session
        niceness = [int(session.read_text().split()[-1]) for session in sessions]
        assert niceness[1] > niceness[0]


def test_a_killed_worker_is_started_again(again: Running) -> None:
    worker = again.child("worker")
    assert children_of(worker) == []  # its clock is a thread
    with held(worker) as handles:
        os.kill(worker, signal.SIGKILL)
        assert all(handle.has_ended() for handle in handles)
    again.read_until("The worker process ended (killed by SIGKILL)")
    again.read_until(WORKER_READY)


def test_ctrl_c_stops_everything(again: Running) -> None:
    worker = again.child("worker")
    with held(again.child("server"), worker, *children_of(worker)) as handles:
        assert again.stop(signal.SIGINT) == 0
        assert all(handle.has_ended() for handle in handles)
    assert again.lines[-1] == "Loci has stopped.\n"


def test_of_two_web_processes_one_answers_while_the_other_is_gone(started: Path) -> None:
    with running(started, web_processes=2) as up:
        while up.output.count(WEB_READY) < 2:
            up.read_until(WEB_READY)
        killed = up.children("server")
        # Each line says whose it is.
        said = re.findall(rf"^[\d-]+ [\d:,]+ (\d+) [A-Z]+ .*{WEB_READY}", up.output, re.M)
        assert sorted(map(int, said)) == killed
        os.kill(up.process.pid, signal.SIGSTOP)  # so that nobody starts it again
        os.kill(killed[0], signal.SIGKILL)
        assert up.health()[0] == 200
        os.kill(up.process.pid, signal.SIGCONT)
        up.read_until("process ended (killed by SIGKILL); it restarts in 1 s")
        os.kill(killed[1], signal.SIGKILL)
        while up.output.count(WEB_READY) < 4:
            up.read_until(WEB_READY)
        ends = re.findall(
            r"The (web|web 2) process ended \(killed by SIGKILL\); it restarts in 1 s \(it was process (\d+)\)\.",
            up.output,
        )
        assert {name for name, _ in ends} == {"web", "web 2"}
        assert sorted(int(pid) for _, pid in ends) == killed
        processes = up.children("server")
        assert len(processes) == 2
        assert up.health()[0] == 200  # one has the database open from here on
        manage(started, "group", "create", "harbour")
        assert (started / "memory.db-wal").exists()
        with held(*processes) as handles:
            assert up.stop() == 0
            assert all(handle.has_ended() for handle in handles)
    assert not (started / "memory.db-wal").exists()  # a copy of the one file is the whole store


def test_all_children_end_with_a_killed_supervisor_and_the_port_is_free_soon(started: Path) -> None:
    with (
        running(started, with_worker=True, web_processes=2) as up,
        socket.create_connection(("127.0.0.1", up.port)) as client,
    ):
        # A request whose body never comes to its end.
        client.sendall(b"POST /api/memories HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9\r\n\r\n{")
        worker, web = up.child("worker"), up.children("server")
        assert len(web) == 2
        with held(*web, worker, *children_of(worker)) as handles:
            up.process.kill()
            bound_socket("127.0.0.1", up.port).close()  # it waits for the processes of a killed Loci
            assert all(handle.has_ended() for handle in handles)


@pytest.mark.parametrize(
    "others", [[], ["-v", "1"]]
)  # the second is an option of Django's, whose parser answers then
def test_a_port_in_use_is_said_before_anything_starts(tmp_path: Path, others: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = manage(tmp_path / "home", "up", "--port", str(port), *others)
    assert answer.returncode == 1
    assert f"Port {port} is in use by another program." in answer.stderr
    assert f"up --port {port + 1}" in answer.stderr
    assert not (tmp_path / "home" / "memory.db").exists()


def test_a_host_that_others_reach_needs_allowed_hosts(tmp_path: Path) -> None:
    answer = manage(tmp_path / "home", "up", "--host", "0.0.0.0")
    assert answer.returncode == 1
    assert "server.allowed_hosts is empty" in answer.stderr
    assert not (tmp_path / "home").exists()


def test_a_vital_process_that_keeps_dying_is_given_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("loci_site.server.supervisor.FIRST_WAIT_S", 0.0)
    log = tmp_path / "starts"
    command = [sys.executable, "-c", f"open({str(log)!r}, 'a').write('x'); raise SystemExit(3)"]
    supervisor = Supervisor(
        [
            ServerPart("web", command, is_vital=True, is_first=True),
            ServerPart("web 2", ["never started"], is_vital=True),
        ],
        _PREPARING,
        env=os.environ,
    )
    with pytest.raises(Unavailable, match="5 times in a row"):
        supervisor.run()
    assert log.read_text() == "x" * DEATHS_IN_A_ROW


def test_nothing_is_given_up_while_another_vital_process_lives(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The second process ends the whole, by a signal, once the first one has died more often than it may alone."""
    monkeypatch.setattr("loci_site.server.supervisor.FIRST_WAIT_S", 0.0)
    log = tmp_path / "starts"
    dying = [sys.executable, "-c", f"open({str(log)!r}, 'a').write('x'); raise SystemExit(3)"]
    waiting = (
        "import os, pathlib, signal, time\n"
        f"while pathlib.Path({str(log)!r}).stat().st_size <= {DEATHS_IN_A_ROW}: time.sleep(0.01)\n"
        "os.kill(os.getppid(), signal.SIGTERM); time.sleep(60)"
    )
    supervisor = Supervisor(
        [
            ServerPart("web", dying, is_vital=True, is_first=True),
            ServerPart("web 2", [sys.executable, "-c", waiting], is_vital=True),
        ],
        ServerPart("preparing", _PREPARED),
        env=os.environ,
    )
    supervisor.run()
    assert len(log.read_text()) > DEATHS_IN_A_ROW


def test_a_process_runs_only_while_it_is_wanted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It starts when its mark is there, and ends without it, which is no death; another process ends the whole."""
    monkeypatch.setattr("loci_site.server.supervisor.CHECK_EVERY_S", 0.01)
    log, mark = tmp_path / "starts", tmp_path / "wanted"
    unwanting = (
        f"import os, time; open({str(log)!r}, 'a').write('x'); os.remove({str(mark)!r}); time.sleep(60)"
    )
    waiting = (
        "import os, pathlib, signal, time\n"
        f"mark = pathlib.Path({str(mark)!r})\n"
        "time.sleep(0.2); mark.touch()\n"
        "while mark.exists(): time.sleep(0.01)\n"
        "time.sleep(0.3); os.kill(os.getppid(), signal.SIGTERM); time.sleep(60)"
    )
    files = ServerPart("files", [sys.executable, "-c", unwanting], is_wanted=lambda _: mark.exists())
    supervisor = Supervisor(
        [files, ServerPart("web", [sys.executable, "-c", waiting], is_vital=True, is_first=True)],
        ServerPart("preparing", _PREPARED),
        env=os.environ,
    )
    supervisor.run()
    assert log.read_text() == "x"
    assert [child.deaths for child in supervisor._children] == [0, 0]


def test_where_the_store_cannot_be_prepared_nothing_else_starts() -> None:
    preparing = ServerPart("preparing", [sys.executable, "-c", "raise SystemExit(3)"])
    supervisor = Supervisor([ServerPart("worker", ["never started"])], preparing, env=os.environ)
    with pytest.raises(SystemExit, match="3"):
        supervisor.run()


def test_another_web_process_runs_while_the_first_is_busy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It comes with the load, goes when it has been quiet for a while, and the first one stays."""
    monkeypatch.setattr("loci_site.server.supervisor.CHECK_EVERY_S", 0.01)
    monkeypatch.setattr("loci_site.server.supervisor.LOAD_S", 0.0)
    monkeypatch.setattr("loci_site.server.supervisor.QUIET_S", 0.5)
    log, used = tmp_path / "log", {"s": 0.0}
    monkeypatch.setattr("loci_site.server.supervisor._cpu_seconds", lambda _: used["s"])
    noting = f"import signal; log = open({str(log)!r}, 'a', 1); log.write('+'); log.flush()\n"
    other = (
        noting
        + "signal.signal(signal.SIGTERM, lambda *_: (log.write('-'), log.flush(), exit(0))); signal.pause()"
    )
    first = "import os, pathlib, signal, time\n" + (
        f"log = pathlib.Path({str(log)!r})\n"
        "while not log.exists() or '-' not in log.read_text(): time.sleep(0.01)\n"
        "os.kill(os.getppid(), signal.SIGTERM); time.sleep(60)"
    )

    def is_wanted(pids: Sequence[int], watch: LoadWatch = LoadWatch()) -> bool:  # noqa: B008 - one for the test
        used["s"] += (
            0 if log.exists() else 1e9
        )  # more than all the cores there are, until the other one has started
        return watch(pids)

    supervisor = Supervisor(
        [
            ServerPart("web", [sys.executable, "-c", first], is_vital=True, is_first=True),
            ServerPart("web 2", [sys.executable, "-c", other], is_vital=True, is_wanted=is_wanted),
        ],
        ServerPart("preparing", _PREPARED),
        env=os.environ,
    )
    supervisor.run()
    assert log.read_text() == "+-"
    assert [child.deaths for child in supervisor._children] == [0, 0]


def test_the_wait_before_a_new_start_doubles_up_to_half_a_minute() -> None:
    assert [restart_wait_s(deaths) for deaths in (1, 2, 3, 4, 5, 6, 50)] == [1, 2, 4, 8, 16, 30, 30]


def test_how_a_process_ended_is_said_in_words() -> None:
    assert (describe_exit(3), describe_exit(-9)) == ("status 3", "killed by SIGKILL")
