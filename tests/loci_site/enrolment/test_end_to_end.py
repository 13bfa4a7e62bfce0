"""A colleague on another machine: one line with plain Python, a fact that arrives unasked, a decision that is captured and taken back."""

import http.cookiejar
import json
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.loci_site.server.running import Running, manage, running

pytestmark = pytest.mark.server
FACT = "The ledger's production database is PostgreSQL 16 on the host brass."
DECISION = "We decided to keep invoices for eleven years because the auditors ask for ten."
PYTHON = Path(getattr(sys, "_base_executable", sys.executable))


@dataclass(frozen=True)
class Laptop:
    """Nora's machine: a home, a folder of the ledger, and Python without Loci or any package."""

    home: Path
    folder: Path

    def run(self, words: list[str] | str, given: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, shell=isinstance(words, str), input=given, cwd=self.folder, capture_output=True, text=True,
            env={"HOME": str(self.home), "PATH": f"{PYTHON.parent}:/usr/bin:/bin", **env}, timeout=120, check=False,
        )  # fmt: skip

    def files(self) -> set[str]:
        return {str(path.relative_to(self.home)) for path in self.home.rglob("*") if path.is_file()}

    def hook(self, event: str, env: dict[str, str] | None = None, **sent: Any) -> str:
        """What the client's own settings run for an event, and what it would put before its model."""
        settings = json.loads((self.home / ".claude" / "settings.json").read_text())
        command = settings["hooks"][event][0]["hooks"][0]["command"]
        given = json.dumps({"session_id": "s-1", "cwd": str(self.folder), **sent})
        done = self.run(command, given, **(env or {}))
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A team's Loci with a group, a pinned fact, and nora, who may write into the group."""
    home = tmp_path_factory.mktemp("server")
    stored = json.loads(manage(home, "remember", FACT, "--group", "ledger", "--json").stdout)
    assert manage(home, "memory", "pin", stored["id"]).returncode == 0
    (home / "hooks" / "loci-hook").mkdir(parents=True)
    made = manage(home, "person", "add", "nora", "--member", "ledger=contributor", "--generate", "--json")
    with running(home) as up:
        up.password = json.loads(made.stdout)["password"]  # type: ignore[attr-defined]
        yield up


def line_for(server: Running, client: str) -> str:
    """The first line of the page My account, Connect your client, as nora's browser shows it."""
    site = f"http://127.0.0.1:{server.port}"
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))

    def post(path: str, **fields: str) -> str:
        page = browser.open(site + path).read().decode()
        csrf = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[-1]
        sent = urllib.parse.urlencode({"csrfmiddlewaretoken": csrf, **fields}).encode()
        return str(
            browser.open(urllib.request.Request(site + path, sent, {"Referer": site + path})).read().decode()
        )

    post("/login/", username="nora", password=server.password)  # type: ignore[attr-defined]
    page = post("/admin/account/connect/", client=client)
    return unescape(re.findall(r"<pre[^>]*>(python3 .*?)</pre>", page, re.S)[0])


@pytest.fixture
def laptop(tmp_path: Path) -> Laptop:
    (tmp_path / "home").mkdir()
    (tmp_path / "ledger").mkdir()
    return Laptop(tmp_path / "home", tmp_path / "ledger")


def sent_in_time(server: Running, laptop: Laptop) -> dict[str, Any]:
    """The captured decision; a busy server gets it with a later event, since a hook waits for one second."""
    for _ in range(20):
        if found := [row for row in captured(server) if row["text"] == DECISION]:
            return found[0]
        laptop.hook("SessionStart", source="resume")
    raise AssertionError("the decision was never captured")


def test_one_line_brings_tools_and_hooks_and_what_they_leave_can_be_taken_back(
    server: Running, laptop: Laptop
) -> None:
    line = line_for(server, "claude-code")
    assert "loci_" not in line.replace("loci_site", "").replace("loci_client", "")
    done = laptop.run(line)
    assert done.returncode == 0, done.stderr
    assert "is connected to Loci" in done.stdout
    assert "as nora in the group 'ledger'" in done.stdout
    assert "PostgreSQL 16" in done.stdout
    assert "#skip" in done.stdout
    assert "Restart Claude Code" in done.stdout
    assert not [name for name in laptop.files() if name.endswith((".db", ".onnx")) or "keys/" in name]
    again = laptop.run(line)
    assert (again.returncode, again.stderr.count("was used already")) == (1, 1)
    assert "PostgreSQL 16" in laptop.hook("SessionStart", source="startup")
    laptop.hook("UserPromptSubmit", prompt=DECISION)
    row = sent_in_time(server, laptop)
    assert (row["group"], row["outcome"]) == ("ledger", "waiting")
    file = line.partition(" claude-code ")[0]
    assert f"{row['memory'][-8:]}  waiting" in laptop.run(f"{file} --captured").stdout
    undone = laptop.run(f"{file} --undo {row['memory'][-8:]}")
    assert f"{row['memory'][-8:]}  forgotten" in undone.stdout, undone.stderr
    assert [row["outcome"] for row in captured(server) if row["text"] == DECISION] == ["forgotten"]
    laptop.hook("UserPromptSubmit", prompt=f"#skip {DECISION}")
    assert [row["outcome"] for row in captured(server) if row["text"] == DECISION] == ["forgotten"]
    laptop.hook(
        "UserPromptSubmit", {"LOCI_URL": "http://127.0.0.1:9"}, prompt="The token is ghp_" + "a1B2" * 9
    )
    [spool] = (laptop.home / ".loci" / "hooks").glob("*.spool")
    assert "[left out: it may hold a secret]" in spool.read_text()
    log = server.home / "logs"
    secret = json.loads((laptop.home / ".loci" / "hooks" / "claude-code.json").read_text())["token"]
    written = b"".join(path.read_bytes() for path in log.rglob("*") if path.is_file())
    assert secret.encode() not in written
    assert line.rpartition(" ")[2].encode() not in written


def captured(server: Running) -> list[dict[str, Any]]:
    return list(json.loads(manage(server.home, "hook", "captured", "--json").stdout))


def test_the_connection_is_tried_and_taken_back_without_loci(server: Running, laptop: Laptop) -> None:
    line = line_for(server, "codex")
    assert laptop.run(line).returncode == 0
    file = line.partition(" codex ")[0]
    assert "token valid" in laptop.run(f"{file} --status").stdout
    settings = laptop.home / ".loci" / "hooks" / "codex.json"
    settings.write_text(settings.read_text().replace("loci_", "loci_x"))
    assert "The token is not known" in laptop.run(f"{file} --status").stdout
    assert laptop.run(f"{file} codex --remove").returncode == 0
    assert laptop.files() == set()


@pytest.fixture
def changed(server: Running) -> Iterator[dict[str, bytes]]:
    """A server between the laptop and Loci: it sends what the server sends, and for these ends of a path something else."""
    ends: dict[str, bytes] = {}

    class Between(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{self.path}") as answer:
                data = answer.read()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(next((other for end, other in ends.items() if self.path.endswith(end)), data))

        def log_message(self, *args: object) -> None:
            """Not to standard error."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Between) as between:
        Thread(target=between.serve_forever, daemon=True).start()
        ends["port"] = str(between.server_port).encode()
        yield ends
        between.shutdown()


@pytest.mark.parametrize("wrong", ["script", "client", "version", "code", "server"])
def test_what_is_wrong_is_said_and_nothing_is_written(
    server: Running, laptop: Laptop, changed: dict[str, bytes], wrong: str
) -> None:
    line = line_for(server, "cursor")
    file, code = line.partition(" cursor ")[0], line.rpartition(" ")[2]
    digest = re.findall(r"/connect/([0-9a-f]{32})'", line)[0]
    between = line.replace(f":{server.port}/", f":{changed.pop('port').decode()}/")
    if wrong == "script":
        changed[digest] = b"print('not looked at')"
    if wrong == "client":
        changed[".whl"] = b"print('not looked at')"
    run, said = {
        "script": (between, "The file changed."),
        "client": (between, "The client is not the one that the page named: nothing was run."),
        "version": (line.replace(digest, "0" * 32), "The file changed."),
        "code": (line.replace(code, "x" * len(code)), "The code is wrong"),
        "server": (
            f"{file} cursor --url http://127.0.0.1:9 --code x",
            "No Loci answers at http://127.0.0.1:9",
        ),
    }[wrong]
    done = laptop.run(run)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert laptop.files() == set()
    assert list(laptop.folder.iterdir()) == []


def states(server: Running) -> list[str]:
    """The states of the tokens, newest first."""
    return [token["state"] for token in json.loads(manage(server.home, "token", "list", "--json").stdout)]


def test_a_token_that_nothing_was_connected_with_is_given_back(server: Running, laptop: Laptop) -> None:
    before = states(server)
    done = laptop.run(f"{line_for(server, 'cursor')} --place {laptop.folder}=none")
    assert (done.returncode, done.stderr.count("The token reaches no group 'none'")) == (1, 1)
    assert "may still work" not in done.stderr
    assert states(server) == ["revoked", *before]
    assert laptop.files() == set()


def test_the_server_hears_of_replaced_and_removed_connections(server: Running, laptop: Laptop) -> None:
    before = states(server)
    first, second = line_for(server, "gemini"), line_for(server, "zed")
    assert "former token" not in laptop.run(first).stdout
    assert "The former token is revoked." in laptop.run(line_for(server, "gemini")).stdout
    assert laptop.run(second).returncode == 0
    assert states(server) == ["valid", "valid", "revoked", *before]
    file = first.partition(" gemini ")[0]
    assert "Its token is revoked." in laptop.run(f"{file} gemini --remove").stdout
    assert states(server) == ["valid", "revoked", "revoked", *before]
    settings = laptop.home / ".loci" / "hooks" / "zed.json"
    settings.write_text(settings.read_text().replace(f":{server.port}", ":9"))
    said = laptop.run(f"{file} zed --remove").stdout
    assert "Its token may still work: revoke it in My account." in said
    assert laptop.files() == set()


def test_status_asks_for_no_more_than_was_connected(server: Running, laptop: Laptop) -> None:
    made = manage(server.home, "token", "create", "plain", "--user", "nora", "--json")
    secret, site = json.loads(made.stdout)["secret"], f"http://127.0.0.1:{server.port}"
    file = line_for(server, "claude-code").partition(" claude-code ")[0]
    words = f"claude-code --url {site} --token {secret}"
    assert "lacks the scope hook" in laptop.run(f"{file} {words}").stderr
    assert laptop.run(f"{file} {words} --hooks none").returncode == 0
    assert "token valid" in laptop.run(f"{file} --status").stdout


def test_a_project_gets_no_hooks_whose_program_is_missing(server: Running, laptop: Laptop) -> None:
    done = laptop.run(f"{line_for(server, 'gemini')} --scope project")
    assert done.returncode == 0, done.stderr
    assert "Its hooks are left out" in done.stdout
    assert "Injected" not in done.stdout
    assert "loci-hook" not in (laptop.folder / ".gemini" / "settings.json").read_text()


def test_a_start_renews_the_hook_program_that_is_there(server: Running) -> None:
    assert (server.home / "hooks" / "loci-hook" / "__main__.py").is_file()
