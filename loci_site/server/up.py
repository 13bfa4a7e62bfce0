"""What `loci up` does: it prepares the store, and keeps the web processes and the worker running until Ctrl-C.

This process loads neither Django's apps nor the libraries of the others: it starts them at once and stays small. The store
is prepared by a process that ends (`loci up --prepare`), while the first web process imports what it needs.
"""

import argparse
import gc
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from logging.config import dictConfig
from pathlib import Path
from typing import Final

from django.conf import settings

from access.connect import base_url, publish_address
from loci_site.config import load_config
from loci_site.config.logs import SERVING_VARIABLE, log_to_file, logging_settings
from loci_site.server.socket import bound_socket, only_one_in
from loci_site.server.supervisor import LoadWatch, ServerPart, Supervisor, count_web_processes
from storage.home import WATCHING, ensure_home

_CHECKOUT: Final = Path(__file__).resolve().parents[2]
# Runs this program with other arguments; argv[0] stays, since messages tell the user how it was called.
RUN_AGAIN: Final = "import sys; del sys.argv[0]; from loci_site.management.cli import main; main()"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", help="address to listen on; default: the setting server.host")
    parser.add_argument("--port", help="port to listen on; default: the setting server.port")
    parser.add_argument("--no-worker", action="store_true", help="run the web processes only")
    parser.add_argument("--no-model", action="store_true", help="do not download a missing model")
    parser.add_argument(
        "--reload", action="store_true", help="for development: restart when the code changes"
    )
    # Of the process that prepares: this process's id, the socket, and the pipe that lets the web processes begin.
    parser.add_argument("--prepare", nargs=3, type=int, help=argparse.SUPPRESS)


def run_alone(words: Sequence[str]) -> bool:
    """Run `loci up` with these arguments, without Django; False for arguments that Django's parser has to answer."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    add_arguments(parser)
    try:
        options, others = parser.parse_known_args(words)
    except argparse.ArgumentError:
        return False
    if others or options.prepare:
        return False
    override_address(options)
    settings.configure(LOCI=load_config(os.environ), USE_I18N=False)
    gc.enable()
    dictConfig(logging_settings(settings.LOCI, os.environ))
    run(options)
    return True


def override_address(options: argparse.Namespace) -> None:
    """Put the address of the command line into the environment, which the settings are read from and children inherit."""
    # The long variables override the short ones that the user may have set.
    if options.host is not None:
        os.environ["LOCI_SERVER_HOST"] = options.host
    if options.port is not None:
        os.environ["LOCI_SERVER_PORT"] = options.port


def run(options: argparse.Namespace) -> None:
    """Run until a signal.

    Raises:
        LociError: another process runs with this LOCI_HOME, the address cannot be bound, or the web process keeps dying.
        SystemExit: the store could not be prepared; that process has said why.
    """
    server, home = settings.LOCI.server, ensure_home(settings.LOCI.home)
    if options.no_model:
        os.environ["LOCI_EMBEDDING_HUB"] = "false"  # the web processes fetch none either
    with only_one_in(home), bound_socket(server.host, server.port) as sock, publish_address(home, base_url()):
        log_to_file(settings.LOCI)
        may_begin, begin = os.pipe()
        parts = _web_parts(sock, may_begin, reload=options.reload)
        if not options.no_worker:
            parts.append(ServerPart("worker", _child_command("loci_site.worker.process")))
            files = _child_command("loci_site.worker.files")
            parts.append(ServerPart("files", files, is_wanted=lambda _: (home / WATCHING).exists()))
        prepare = [*sys.argv, "--prepare", *map(str, (os.getpid(), sock.fileno(), begin))]
        command = [sys.executable, "-P", "-c", RUN_AGAIN, *prepare]
        fds = [sock.fileno(), begin]
        Supervisor(parts, ServerPart("preparing", command, fds=fds), env=child_environment()).run()
    _move_wal_into_file()
    sys.stdout.write("Loci has stopped.\n")


def _web_parts(sock: socket.socket, may_begin: int, *, reload: bool) -> list[ServerPart]:
    """The web processes on one socket; all but the first start once that one answers. With `reload` there is only one."""
    wanted = settings.LOCI.server.web_processes
    fds = [sock.fileno(), may_begin]
    command = _child_command("loci_site.server.web", *(f"--fd={fds[0]}", f"--begin={fds[1]}"))
    first = ServerPart("web", command, is_vital=True, is_first=True, fds=fds)
    if reload:
        return [replace(first, command=[*command, "--reload"])]
    count = count_web_processes(wanted)
    is_fixed = bool(wanted) or sys.platform != "linux"  # elsewhere nothing says how busy a process is
    others = [replace(first, name=f"web {n}", is_first=False) for n in range(2, count + 1)]
    return [first, *(others if is_fixed else [replace(each, is_wanted=LoadWatch()) for each in others])]


def _child_command(*words: str) -> list[str]:
    """The command of a child process: one of Loci's modules, which ends with this process.

    Without -P, Python would look for modules in the current folder first.
    """
    return [sys.executable, "-P", "-m", *words, "--parent", str(os.getpid())]


def child_environment() -> dict[str, str]:
    """The environment of the children; in a checkout, PYTHONPATH leads them to its code.

    Relative entries of PYTHONPATH, and empty ones, mean the current folder, whose files must not run.
    """
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if Path(path).is_absolute()]
    env = {
        # glibc gives each thread that allocates a heap of its own, and keeps what is freed there.
        "MALLOC_ARENA_MAX": "1",
        **os.environ,
        "DJANGO_SETTINGS_MODULE": os.environ.get("DJANGO_SETTINGS_MODULE", "loci_site.settings"),
        SERVING_VARIABLE: "1",
    }
    if (_CHECKOUT / "manage.py").is_file():
        paths.insert(0, str(_CHECKOUT))
    return env | {"PYTHONPATH": os.pathsep.join(paths)}


def _move_wal_into_file() -> None:
    """As the last user of the database: the children's threads may not have closed their connections."""
    file = settings.LOCI.storage.database
    if settings.LOCI.database_url or not Path(f"{file}-wal").exists():
        return
    from storage.sqlite.base import connect_to_copy  # noqa: PLC0415 - loads Django's backend, which runs nothing else here

    # Each of the libraries that encrypt has errors of its own.
    with suppress(Exception), closing(connect_to_copy(file)) as database:
        database.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
