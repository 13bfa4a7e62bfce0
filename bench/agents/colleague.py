"""An invited colleague whose machine has Python and the clients, and no Loci: from the link to the end of the connection."""

import json
import os
import re
import time
import venv
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

from bench.agents.bench import CLIENT_S, CODEX, FACT_ASKED, Bench, fresh, once, write_codex_settings
from bench.proof.client import Client
from bench.proof.proof import ProofError, wait_until

LINE_S = 10  # from pasting the line to its end
OWN = ".loci/"
# How the client's own files are written before Loci comes.
OWN_FILES = {
    ".claude.json": '{"theme" : "dark",\n\t"numStartups": 3 }',
    ".claude/settings.json": '{ "permissions": {"deny": ["Read(./.env)"]} }\n\n',
}
CLIENTS = {
    "claude-code": (
        ("claude", "-p"),
        "We decided to keep invoices for eleven years because the auditors ask for ten.",
    ),
    "codex": (
        CODEX,
        "We settled on Leipzig for the second copy because the lawyers want the data in Germany.",
    ),
}
Files = dict[str, bytes]


@dataclass(frozen=True)
class Laptop(Bench):
    """The colleague's machine: its Python has no package, and no variable names a Loci."""

    @property
    def environment(self) -> dict[str, str]:
        """The colleague's environment."""
        kept = {
            name: value
            for name, value in super().environment.items()
            if not name.startswith(("LOCI_", "DJANGO_", "PYTHON"))
        }
        return kept | {"PATH": f"{_python_of(self.person)}{os.pathsep}{kept['PATH']}"}

    def paste(self, line: str) -> str:
        """What a line prints in a terminal."""
        return self.run(["sh", "-c", line], cwd=self.project)

    def files(self) -> Files:
        """The files of the home folder."""
        found = (path for path in self.person.rglob("*") if path.is_file())
        return {path.relative_to(self.person).as_posix(): path.read_bytes() for path in found}


def look_at_colleague(at: Bench, numbers: dict[str, Any]) -> list[str]:
    """What goes wrong for nora, whom an admin invites, with each client."""
    laptop, failures = _laptop(at), []
    begun = time.perf_counter()
    with Client(at.server.port, timeout_s=CLIENT_S) as nora:
        _accept(nora, _invite(at))
        for client in CLIENTS:
            failures += [f"nora, {client}: {each}" for each in _use(laptop, nora, client, begun, numbers)]
    return failures


def _use(laptop: Laptop, nora: Client, client: str, begun: float, numbers: dict[str, Any]) -> list[str]:
    """Connect a client by the line of the page, work with it, take its capture back, and disconnect."""
    (words, decision), before = CLIENTS[client], laptop.files()
    line = _line(nora, client)
    pasted = time.perf_counter()
    laptop.paste(line)
    line_s = time.perf_counter() - pasted
    linked, program = laptop.files(), line.partition(f" {client} ")[0]
    found = once(laptop.ask(*words, FACT_ASKED), "asked")
    numbers.setdefault(
        "invited: from the invitation to the end of the first session, s",
        round(time.perf_counter() - begun, 1),
    )
    numbers[f"invited: the line of {client}, s"] = round(line_s, 1)
    laptop.ask(*words, decision)
    found += _take_back(laptop, nora, f"{program} --", decision)
    used = laptop.files()
    laptop.paste(f"{program} {client} --remove")
    stray = [name for name in linked.keys() - before.keys() if name.startswith(OWN) and "/hooks/" not in name]
    if line_s > LINE_S:
        found.append(f"the line took {line_s:.1f} s, more than {LINE_S}")
    if stray or list(laptop.project.iterdir()):
        found.append(f"the line left more than hooks: {stray}, {list(laptop.project.iterdir())}")
    return found + _left(before, linked, used, laptop.files())


def _take_back(laptop: Laptop, nora: Client, program: str, decision: str) -> list[str]:
    """What is wrong with the capture: nora sees it on the site and in the terminal, and forgets it there."""
    page = "/admin/memories/memory/?mine=1"
    wait_until(
        lambda: decision[:40] in unescape(nora.open(page)), f"Not captured: {decision}", seconds=CLIENT_S
    )

    def row(option: str) -> list[str]:
        lines = laptop.paste(program + option).splitlines()
        return next((each.split() for each in lines if decision[:40] in each), [])

    seen = row("captured")
    if seen[3:4] != ["ledger"] or seen[5:6] != ["waiting"]:
        return [f"--captured shows {seen}"]
    undone = row(f"undo {seen[4]}")
    return [] if undone[5:6] == ["forgotten"] else [f"--undo shows {undone}"]


def _left(before: Files, linked: Files, used: Files, left: Files) -> list[str]:
    """Which of the files that connecting changed are not as before, byte for byte; of those that the client itself wrote
    meanwhile, only Loci's server may be missing."""
    found = []
    for name in sorted(name for name in linked if linked[name] != before.get(name)):
        if name.startswith(OWN) or used.get(name) == linked[name]:
            is_right = left.get(name) == before.get(name)
        else:
            now, then = json.loads(left[name]), json.loads(used[name])
            now.setdefault("mcpServers", {})
            del then["mcpServers"]["loci"]
            is_right = now == then
        found += [] if is_right else [f"{name} is not as it was before"]
    return found + [f"{name} is left" for name in left if name.startswith(OWN)]


def _laptop(at: Bench) -> Laptop:
    """A machine with the clients' own settings."""
    person, project = fresh(at.person.with_name("nora")), fresh(at.person.with_name("noras") / "ledger")
    venv.create(_python_of(person).parent, with_pip=False, clear=True)
    for name, text in OWN_FILES.items():
        (person / name).parent.mkdir(exist_ok=True)
        (person / name).write_text(text)
    write_codex_settings(person, at.stub)
    own = {**vars(at), "person": person, "project": project, "hook_secret": ""}
    return Laptop(**own)


def _python_of(person: Path) -> Path:
    """The folder with the colleague's Python, outside of the home folder."""
    return person.with_name(f"{person.name}-python") / "bin"


def _invite(at: Bench) -> str:
    """The path of the one-time link, which the site shows an admin."""
    with Client(at.server.port, timeout_s=CLIENT_S) as admin:
        admin.log_in("prover", at.home.witness("browser")["password"])
        admin.open(path := "/admin/auth/user/add/")
        page: str = admin.form(path, {"person": "nora", "role-ledger": "contributor", "how": "link"}).must()
    found = re.search(r"(/invited/[^<\"\s]+)", page)
    if found is None:
        raise ProofError("The invitation shows no link.")
    return found[1]


def _accept(nora: Client, link: str) -> None:
    """Choose a password, which logs in."""
    form = nora.get(link).headers["Location"]
    nora.open(form)
    password = "a-quiet-brass-kettle"
    answer = nora.form(form, {"new_password1": password, "new_password2": password})
    if answer.status != 302:
        raise ProofError(f"The invitation answered {answer.status}.")


def _line(nora: Client, client: str) -> str:
    """The line for Python on the page My account, Connect your client."""
    nora.open(path := "/admin/account/connect/")
    page: str = nora.form(path, {"client": client}).must()
    return unescape(re.findall(r"<pre[^>]*>(python3 .*?)</pre>", page, re.S)[0])
