"""`loci-hook CLIENT EVENT`: hands a client's hook to Loci and prints the answer. Standard library only, and no Django.

It may never disturb the client: whatever goes wrong, it prints nothing and ends with status 0 within a second. What
could not be sent waits in a file next to the token, without secrets, and goes with the next call.
"""

from __future__ import annotations

# Not `socket`, `urllib` or `typing`: the start of the interpreter takes 13 ms of CPU, this program 22, with them 35.
import _socket
import _thread
import json
import os
import sys
import time

TOTAL_S, CONNECT_S, STDIN_S = 1.0, 0.3, 0.2
MAX_INPUT = 1 << 20
MAX_SPOOL = 1 << 20
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Values = dict[str, Any]
WANTED: list[bytes] = []  # the header by which a server asks which commits the head contains
LATE_EVENTS = ("session-start", "session-end")  # the calls that send the spool: the person is not typing


def main() -> None:
    """Run once, and always end with status 0."""
    deadline = time.monotonic() + TOTAL_S
    _thread.start_new_thread(stop_at, (deadline + 0.1,))
    try:
        run(sys.argv[1:], deadline)
        sys.stdout.flush()
    except BaseException:  # noqa: S110 - a hook that fails must not be noticed
        pass
    os._exit(0)  # without waiting for threads, or for a pipe without a reader


def stop_at(deadline: float) -> None:
    """End the process at the deadline, wherever it hangs."""
    time.sleep(max(0.0, deadline - time.monotonic()))
    os._exit(0)


def run(words: list[str], deadline: float) -> None:
    """Send the event on standard input; print what Loci wants the client to know."""
    if os.environ.get("LOCI_HOOKS", "").strip().lower() in ("off", "0", "no", "false"):
        return
    client, event = words[:2]
    sent = json.loads(read_input(deadline))
    folder = folder_of(sent)
    settings = read_settings(client)
    if not settings or is_ignored(folder):
        return
    sent["loci"] = {**place_of(folder, settings), **work_of(folder, event)}
    try:
        answer = post(settings, client, event, sent, deadline)
    except (OSError, ValueError):
        keep(client, event, sent)
        return
    if answer.startswith(b"{") and answer != b"{}":
        sys.stdout.write(answer.decode())
        sys.stdout.flush()
    if WANTED:
        tell_reachable(settings, client, sent, folder, deadline)
    if event in LATE_EVENTS:
        send_late(settings, client, deadline)


def read_input(deadline: float) -> bytes:
    """Standard input up to its end; some clients never close it, so what is whole JSON is enough."""
    if os.name == "nt":
        return sys.stdin.buffer.read(MAX_INPUT)
    import select  # noqa: PLC0415 - Windows cannot wait for a pipe

    parts, until = b"", min(deadline, time.monotonic() + STDIN_S)
    while len(parts) < MAX_INPUT:
        ready, _, _ = select.select([0], [], [], max(0.0, until - time.monotonic()))
        chunk = os.read(0, 65536) if ready else b""
        if not chunk:
            break
        parts += chunk
    return parts


def folder_of(sent: Values) -> str:
    roots = sent.get("workspace_roots") or sent.get("workspaceRoots") or [""]
    return str(sent.get("cwd") or roots[0] or os.getcwd())  # noqa: PTH109


def is_ignored(folder: str) -> bool:
    """Whether the folder or one above it has a file .loci-ignore."""
    return any(os.path.exists(os.path.join(each, ".loci-ignore")) for each in (folder, *parents(folder)))  # noqa: PTH110, PTH118 - pathlib takes as long as all the rest


def parents(folder: str) -> list[str]:
    """The folders above, nearest first."""
    found, above = [], os.path.dirname(folder)  # noqa: PTH120
    while above and above != folder:
        found.append(above)
        folder, above = above, os.path.dirname(above)  # noqa: PTH120
    return found


def home() -> str:
    return os.path.join(os.environ.get("LOCI_HOME", "").strip() or os.path.expanduser("~/.loci"), "hooks")  # noqa: PTH111, PTH118


def read_settings(client: str) -> Values:
    """Address, token and places: from the file that `loci connect` wrote, the environment first."""
    try:
        with open(os.path.join(home(), f"{client}.json"), encoding="utf-8") as file:  # noqa: PTH118, PTH123
            found = json.load(file)
    except OSError:
        found = {}
    url, token = os.environ.get("LOCI_URL"), os.environ.get("LOCI_TOKEN")
    found |= {name: value for name, value in (("url", url), ("token", token)) if value}
    found.setdefault("url", "http://127.0.0.1:8000")
    return found if found.get("token") else {}


def place_of(folder: str, settings: Values) -> Values:
    """The repository's origin, branch and head, and the group configured for the folder or the origin."""
    found = read_repository(folder)
    places = settings.get("places") or {}
    inside = [each for each in places if folder == each or folder.startswith(each.rstrip("/\\") + os.sep)]
    group = places[max(inside, key=len)] if inside else places.get(found.get("origin"))
    return {**found, **({"group": group} if group else {})}


def read_repository(folder: str) -> Values:
    """Origin, branch and head, read from git's files: starting git takes longer than everything else."""
    for above in (folder, *parents(folder)):
        git = os.path.join(above, ".git")  # noqa: PTH118
        if os.path.isfile(git):  # noqa: PTH113 - a worktree, or a submodule
            git = os.path.join(above, text_of(git).removeprefix("gitdir:").strip())  # noqa: PTH118
        if os.path.isdir(git):  # noqa: PTH112
            break
    else:
        return {}
    shared = os.path.join(git, text_of(os.path.join(git, "commondir")).strip() or ".")  # noqa: PTH118
    head = text_of(os.path.join(git, "HEAD")).strip()  # noqa: PTH118
    ref = head.removeprefix("ref: ") if head.startswith("ref: ") else ""
    found = {"branch": ref.removeprefix("refs/heads/"), "head": resolve(git, shared, ref) if ref else head}
    found["origin"] = origin_of(text_of(os.path.join(shared, "config")))  # noqa: PTH118
    return {name: value for name, value in found.items() if value}


def resolve(git: str, shared: str, ref: str) -> str:
    """The commit of a branch, from its own file or the packed ones."""
    for place in (git, shared):
        if sha := text_of(os.path.join(place, *ref.split("/"))).strip():  # noqa: PTH118
            return sha
    packed = text_of(os.path.join(shared, "packed-refs")).splitlines()  # noqa: PTH118
    return next((line.split(" ")[0] for line in packed if line.endswith(f" {ref}")), "")


def origin_of(config: str) -> str:
    """The address of the remote origin, without a name or password in it."""
    inside = False
    for line in map(str.strip, config.splitlines()):
        if line.startswith("["):
            inside = line == '[remote "origin"]'
        elif inside and line.partition("=")[0].strip() == "url":
            url = line.partition("=")[2].strip()
            scheme, there, rest = url.partition("://")
            return f"{scheme}://{rest.rpartition('@')[2]}" if there else url
    return ""


def work_of(folder: str, event: str) -> Values:
    """At the end of a session: the files that are changed, and the commits of the last day."""
    if event not in ("session-end", "pre-compact"):
        return {}
    status = run_git(folder, "status", "--porcelain", "--untracked-files=no") or []
    # Signs that neither end a line nor count as white space in Python, as \x1e and \x1f do.
    form = "--format=%H%x02%ct%x02%s%x02%b%x01"
    log = run_git(folder, "log", "--no-merges", "-n50", "--since=1.day", form) or []
    commits = []
    for entry in "\n".join(log).split("\x01"):
        parts = entry.strip().split("\x02")
        if len(parts) == 4:
            message = "\n\n".join(filter(None, (parts[2].strip(), parts[3].strip())))
            commits.append({"sha": parts[0], "at": int(parts[1]), "message": message})
    return {"files": [line[3:] for line in status][:30], "commits": commits}


def tell_reachable(settings: Values, client: str, sent: Values, folder: str, deadline: float) -> None:
    """Ask which commits memories name, and report those that the head contains."""
    place = sent.get("loci") or {}
    names = ("session_id", "sessionId", "conversation_id", "taskId")
    call: Values = {"cwd": folder, "loci": place, **{name: sent[name] for name in names if name in sent}}
    asked = json.loads(post(settings, client, "anchors", call, deadline) or b"{}").get("anchors") or []
    found = reachable(folder, place.get("head", ""), asked)
    if found is not None:
        place = {**place, "reachable": found, "asked": asked}
        post(settings, client, "anchors", {**call, "loci": place}, deadline)


def reachable(folder: str, head: str, anchors: list[str]) -> list[str] | None:
    """Those of the commits that the head contains; None if git cannot tell, as in a shallow clone."""
    if not anchors or not head:
        return []
    names = run_git(folder, "cat-file", "--batch-check", given="\n".join(anchors) + "\n")
    if names is None or run_git(folder, "rev-parse", "--is-shallow-repository") != ["false"]:
        return None
    # "NAME commit SIZE" of those that are there; a short name is made whole.
    whole = {each: line.split(" ")[0] for each, line in zip(anchors, names) if " commit " in line}  # noqa: B905 - as many lines
    if not whole:
        return []
    beyond = run_git(folder, "rev-list", "--stdin", given="\n".join([*whole.values(), f"^{head}", ""]))
    return None if beyond is None else [each for each, name in whole.items() if name not in set(beyond)]


def run_git(folder: str, *words: str, given: str = "") -> list[str] | None:
    """Git's output lines for the input `given`; None if git is missing, fails or times out."""
    import subprocess  # noqa: PLC0415 - once a session

    try:
        done = subprocess.run(  # noqa: S603 - fixed words
            ["git", "-C", folder, *words], input=given.encode(), capture_output=True, timeout=0.25, check=True  # noqa: S607 - the person's own git
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace").splitlines()


def text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read(1 << 20)
    except OSError:
        return ""


def post(settings: Values, client: str, event: str, sent: Values, deadline: float) -> bytes:
    """The body of Loci's answer, empty if it refused; OSError if there was none in time."""
    scheme, _, rest = settings["url"].partition("://")
    netloc, slash, path = rest.partition("/")
    prefix = (slash + path).rstrip("/")
    name, _, port = netloc.rpartition(":") if netloc.rpartition(":")[2].isdigit() else (netloc, "", "")
    host, is_tls = name.strip("[]"), scheme == "https"
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    body = json.dumps(sent).encode()
    head = (
        f"POST {prefix}/hooks/{client}/{event} HTTP/1.1\r\nHost: {netloc}\r\n"
        f"Authorization: Bearer {settings['token']}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    link = connect(host, int(port or (443 if is_tls else 80)), min(CONNECT_S, left), is_tls=is_tls)
    try:
        link.settimeout(max(0.01, deadline - time.monotonic()))
        link.sendall(head.encode() + body)
        return read_answer(link, deadline)
    finally:
        link.close()


def connect(host: str, port: int, wait_s: float, *, is_tls: bool) -> Any:
    """A connection to the server; OSError if there is none in time."""
    if is_tls:
        import socket  # noqa: PLC0415 - most servers are on this machine
        import ssl  # noqa: PLC0415 - as above

        plain = socket.create_connection((host, port), timeout=wait_s)
        return ssl.create_default_context().wrap_socket(plain, server_hostname=host)
    refused = OSError(f"no address of {host}")
    for family, kind, protocol, _, address in _socket.getaddrinfo(host, port, 0, _socket.SOCK_STREAM):
        link = _socket.socket(family, kind, protocol)
        link.settimeout(wait_s)
        try:
            link.connect(address)
        except OSError as error:
            link.close()
            refused = error
        else:
            return link
    raise refused


def read_answer(link: Any, deadline: float) -> bytes:
    """The answer's body if its status is 200, otherwise empty; OSError if the server failed or took too long."""
    received = b""
    while True:
        link.settimeout(max(0.01, deadline - time.monotonic()))
        chunk = link.recv(65536)
        if not chunk:
            break
        received += chunk
        if len(received) > MAX_INPUT or time.monotonic() > deadline:
            raise TimeoutError
    head, _, body = received.partition(b"\r\n\r\n")
    status = head.split(b" ", 2)[1:2]
    WANTED[:] = [line for line in head.lower().split(b"\r\n") if line.startswith(b"loci-anchors:")]
    if not status or status[0].startswith(b"5"):
        raise OSError
    if b"transfer-encoding: chunked" in head.lower():
        body = unchunk(body)
    return body.strip() if status[0] == b"200" else b""


def unchunk(body: bytes) -> bytes:
    """A body that a proxy sent in chunks, as one."""
    whole = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        count = int(size.split(b";")[0], 16)
        if not count:
            break
        whole, body = whole + rest[:count], rest[count + 2 :]
    return whole


def spool_of(client: str) -> str:
    return os.path.join(home(), f"{client}.spool")  # noqa: PTH118


def keep(client: str, event: str, sent: Values) -> None:
    """Add a call to the spool without secrets, as long as that is small; a start is of no use later."""
    if event == "session-start":
        return
    from loci_site.hooks.spool_guard import safe_to_keep  # noqa: PLC0415 - only when the server is away

    sent["loci"]["late"] = True
    sent = safe_to_keep(sent)
    file = os.open(spool_of(client), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        if os.fstat(file).st_size < MAX_SPOOL:
            os.write(file, json.dumps([event, sent]).encode() + b"\n")
    finally:
        os.close(file)


def send_late(settings: Values, client: str, deadline: float) -> None:
    """Send what waits in the spool, oldest first; what does not go stays for the next call."""
    spool = spool_of(client)
    own = f"{spool}.{os.getpid()}"
    try:
        os.rename(spool, own)  # noqa: PTH104 - one process sends, others begin a new file
    except OSError:
        return
    lines = text_of(own).splitlines()
    while lines:
        try:
            event, sent = json.loads(lines[0])
            post(settings, client, event, sent, deadline)
        except OSError:
            break
        except ValueError:
            pass
        lines.pop(0)
    if lines:
        file = os.open(spool, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(file, ("\n".join(lines) + "\n").encode())
        os.close(file)
    os.unlink(own)  # noqa: PTH108


if __name__ == "__main__":
    main()
