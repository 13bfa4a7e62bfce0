"""`loci service`: install Loci as a service of the login or the machine, or remove it."""

import os
import plistlib
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from django.conf import settings
from django.core.management.base import CommandError

from access.connect import SCRIPTS, UVX_FOLDER
from access.errors import LociError
from access.management.command import CommandAnswer, CommandVerb, LociCommand, either, flag
from loci_site.config import KEYS
from storage.version import DISTRIBUTION

NAME: Final = "loci"
LABEL: Final = "org.loci-memory.loci"  # launchd names services like host names
_SYSTEM_USER: Final = "loci"
STATE_FOLDER: Final = Path("/var/lib/loci")
_HOMES: Final = (Path("/home"), Path("/root"), Path("/run/user"))

# No mount namespaces: a user's service manager may not make them on every machine, and would not start the service.
_FOR_ALL: Final = """\
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM
"""
# ProcSubset=pid would hide /proc/cpuinfo, by which the model's library chooses its instructions.
_FOR_SYSTEM: Final = """\
CapabilityBoundingSet=
AmbientCapabilities=
PrivateDevices=yes
PrivateTmp=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
"""


@dataclass(frozen=True)
class Service:
    """What is to run: the program's words and LOCI_HOME, for one person or, with `is_system`, for the machine."""

    program: tuple[str, ...]
    home: Path
    is_system: bool


def systemd_unit(service: Service) -> str:
    """The unit. It restarts Loci after a crash, and a service of the machine may write to LOCI_HOME alone."""
    command = " ".join(quoted(word) for word in (*service.program, "up"))
    unit = ["[Unit]", "Description=Loci: memory that AI agents share"]
    body = [
        "[Service]",
        "Type=exec",
        f"ExecStart={command}",
        f"Environment={quoted(f'LOCI_HOME={service.home}')}",
        "Restart=on-failure",
        "RestartSec=5",
        "# `up` ends its processes itself, within 15 s.",
        "KillMode=mixed",
        "TimeoutStopSec=30",
    ]
    if service.is_system:
        unit += ["After=network-online.target", "Wants=network-online.target"]
        is_in_a_home = any(
            path.is_relative_to(folder)
            for path in (Path(service.program[0]), service.home)
            for folder in _HOMES
        )
        folder = (
            ["StateDirectory=loci", "StateDirectoryMode=0700"]
            if service.home == STATE_FOLDER
            else [f"ReadWritePaths={quoted(str(service.home))}"]
        )
        body += [
            f"User={_SYSTEM_USER}",
            f"Group={_SYSTEM_USER}",
            "# Variables such as LOCI_METRICS_TOKEN; all else is in config.toml in LOCI_HOME.",
            "EnvironmentFile=-/etc/loci/loci.env",
            *folder,
            f"ProtectHome={'read-only' if is_in_a_home else 'yes'}",
            _FOR_SYSTEM.rstrip(),
        ]
    target = "multi-user.target" if service.is_system else "default.target"
    return "\n".join([*unit, "", *body, _FOR_ALL, "[Install]", f"WantedBy={target}", ""])


def quoted(word: str) -> str:
    """A word of a unit file: specifiers and variables are escaped, and a word with blanks or quotes is quoted."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if any(sign in escaped for sign in " \t\"'\\") else escaped


def _launchd_plist(service: Service) -> str:
    """The property list of a launchd agent, or with `is_system` of a daemon."""
    log = str(service.home / "logs" / "launchd.log")
    plist = {
        "Label": LABEL,
        "ProgramArguments": [*service.program, "up"],
        "EnvironmentVariables": {"LOCI_HOME": str(service.home)},
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ExitTimeOut": 30,
        "Umask": 0o077,
        "ProcessType": "Interactive",  # or macOS slows recalls down as background work
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    if service.is_system:
        plist["UserName"] = _SYSTEM_USER
    return plistlib.dumps(plist).decode()


class ServiceError(LociError):
    """The service cannot be installed or removed here; the message says why, the hint what to do."""

    code: ClassVar[str] = "service_failed"


@dataclass(frozen=True)
class _ServicePlan:
    """A service's file with its text, and the commands that start it and that stop it."""

    service: Service
    path: Path
    text: str
    start: tuple[Sequence[str], ...]
    stop: tuple[Sequence[str], ...]
    after_stop: tuple[Sequence[str], ...] = ()


def plan_service(*, is_system: bool, home: Path, is_mac: bool = sys.platform == "darwin") -> _ServicePlan:
    """What an installation would do on this machine; nothing is written."""
    if is_system and not os.environ.get("LOCI_HOME", "").strip():  # none was chosen
        home = STATE_FOLDER
    service = Service(program_words(), home, is_system)
    if is_mac:
        folder = Path("/Library/LaunchDaemons") if is_system else Path("~/Library/LaunchAgents").expanduser()
        path = folder / f"{LABEL}.plist"
        domain = "system" if is_system else f"gui/{os.getuid()}"
        start = (("launchctl", "bootstrap", domain, str(path)),)
        stop = (("launchctl", "bootout", f"{domain}/{LABEL}"),)
        return _ServicePlan(service, path, _launchd_plist(service), start, stop)
    folder = Path("/etc/systemd/system") if is_system else Path("~/.config/systemd/user").expanduser()
    ctl = ("systemctl",) if is_system else ("systemctl", "--user")
    return _ServicePlan(
        service,
        folder / f"{NAME}.service",
        systemd_unit(service),
        start=((*ctl, "daemon-reload"), (*ctl, "enable", "--now", NAME)),
        stop=((*ctl, "disable", "--now", NAME),),
        after_stop=((*ctl, "daemon-reload"),),
    )


def program_words() -> tuple[str, ...]:
    """The words that run this Loci, with whole paths. Raises ServiceError if its environment may vanish."""
    if UVX_FOLDER in Path(sys.prefix).parts:
        raise ServiceError(
            "uvx runs Loci from a cache, which it may empty.",
            hint=f"Install Loci first: 'uv tool install {DISTRIBUTION}' or 'pipx install {DISTRIBUTION}'.",
        )
    called = Path(sys.argv[0]).absolute()
    if called.name in SCRIPTS and called.is_file():
        return (str(called),)
    if called.name == "manage.py":
        return (sys.executable, str(called))
    return (sys.executable, "-P", "-c", "from loci_site.management.cli import main; main()")


def _install_service(plan: _ServicePlan) -> Iterator[str]:
    """Write the service's file and start it; yields a line for each thing done.

    Raises:
        ServiceError: the rights, the service manager or the user is missing, or a command failed.
    """
    check_rights(plan)
    if plan.service.is_system:
        check_readable(plan.service.program)
        yield from _make_user(plan.service.home)
    plan.path.parent.mkdir(parents=True, exist_ok=True)
    plan.path.write_text(plan.text, encoding="utf-8")
    yield f"Wrote {plan.path}."
    for command in plan.start:
        run_tool(command)
    yield "Loci runs, and starts again with the machine." if plan.service.is_system else "Loci runs."


def _uninstall_service(plan: _ServicePlan) -> Iterator[str]:
    check_rights(plan)
    if not plan.path.exists():
        raise ServiceError(
            f"There is no service at {plan.path}.", hint="'--user' and '--system' are two services."
        )
    for command in plan.stop:
        run_tool(command)
    plan.path.unlink()
    for command in plan.after_stop:
        run_tool(command)
    yield f"Stopped Loci and removed {plan.path}."
    yield f"The memories, keys and backups are still in {plan.service.home}."


def check_rights(plan: _ServicePlan) -> None:
    """Raise ServiceError unless this user may change this kind of service, and a service manager is there."""
    if plan.service.is_system and os.geteuid() != 0:
        raise ServiceError("Only root can change a service of the machine.", hint="Use sudo, or '--user'.")
    if not plan.service.is_system and os.geteuid() == 0:
        raise ServiceError("A service of root's login makes no sense.", hint="Use '--system'.")
    if shutil.which(plan.start[0][0]) is None:
        raise ServiceError(
            f"There is no {plan.start[0][0]} here, so nothing could start the service.",
            hint="'--print' shows the file; or run 'loci up' under the machine's own supervisor.",
        )


def check_readable(program: Sequence[str]) -> None:
    """Raise ServiceError if the user of the service could not run the program."""
    for path in (Path(program[0]), Path(sys.executable)):
        closed = [str(folder) for folder in path.resolve().parents if not folder.stat().st_mode & 0o001]
        if closed:
            raise ServiceError(
                f"{path} is below {closed[0]}, which the service's user {_SYSTEM_USER} may not enter.",
                hint=f"Install Loci for the whole machine: 'pipx install --global {DISTRIBUTION}'.",
            )


def _make_user(home: Path) -> Iterator[str]:
    """Create the service's user if it is missing, and its folder; yields what was made."""
    try:
        pwd.getpwnam(_SYSTEM_USER)
    except KeyError:
        if shutil.which("useradd") is None:
            raise ServiceError(
                f"The user {_SYSTEM_USER} is missing.", hint="Create it, then try again."
            ) from None
        run_tool(
            ["useradd", "--system", "--home-dir", str(home), "--shell", "/usr/sbin/nologin", _SYSTEM_USER]
        )
        yield f"Created the user {_SYSTEM_USER}."
    if not home.exists():
        home.mkdir(mode=0o700, parents=True)
        shutil.chown(home, _SYSTEM_USER, _SYSTEM_USER)
        yield f"Created {home}."


def run_tool(command: Sequence[str]) -> None:
    """Run a tool of the system; its complaint becomes a ServiceError."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - fixed words
    if done.returncode:
        raise ServiceError(
            f"'{' '.join(command)}' failed: {(done.stderr or done.stdout).strip() or done.returncode}",
            hint="Correct that, then run the command again; nothing else was changed.",
        )


EXAMPLES: Final = """\
examples:
  loci service install --user            start Loci with your login, and now
  sudo loci service install --system     start Loci with the machine, as the user loci, with the data in /var/lib/loci
  loci service install --system --print  show the unit or property list, and change nothing
  loci service uninstall --user          stop Loci and remove the service; the memories stay
"""


def install(options: dict[str, Any]) -> CommandAnswer:
    """Write the service's file and start it, or show what would be written."""
    plan = plan_service(is_system=options["system"], home=settings.LOCI.home)
    if options["print"]:
        return CommandAnswer({"file": plan.text}, plan.text.removesuffix("\n"))
    return _carried_out(_install_service(plan), advice(plan))


def uninstall(options: dict[str, Any]) -> CommandAnswer:
    return _carried_out(
        _uninstall_service(plan_service(is_system=options["system"], home=settings.LOCI.home))
    )


def _carried_out(steps: Iterator[str], told: Sequence[str] = ()) -> CommandAnswer:
    """Carry out the steps. The answer has a line for each, followed by the lines of `told`."""
    try:
        lines = [*steps, *told]
    except OSError as error:
        raise CommandError(f"The service's file cannot be changed: {error}") from error
    return CommandAnswer({"lines": lines}, "\n".join(lines))


def advice(plan: _ServicePlan) -> list[str]:
    """What a person should know after an installation."""
    lines = [f"Data: {plan.service.home}. Settings: config.toml in it."]
    variables = sorted(
        {name for specs in KEYS.values() for spec in specs.values() for name in spec.variables}
    )
    if left_out := [name for name in variables if os.environ.get(name)]:
        lines.append(f"Not taken over from your shell: {', '.join(left_out)}. Write them into config.toml.")
    if plan.path.suffix == ".service":
        user = "" if plan.service.is_system else " --user"
        lines.append(
            f"First password and token: journalctl{user} -u loci. State: systemctl{user} status loci."
        )
        if user:
            lines.append("To run without a login: loginctl enable-linger")
    else:
        lines.append(f"First password and token: {plan.service.home}/logs/launchd.log")
    return lines


KIND: Final = either(
    flag("--user", "a service of your login"),
    flag("--system", "a service of the machine; needs root"),
    required=True,
)


class Command(LociCommand):
    help = "Install Loci as a service of systemd or launchd, or remove it."
    examples = EXAMPLES
    verbs = {
        "install": CommandVerb(
            install,
            "write the service's file and start it",
            (KIND, flag("--print", "print the file instead of writing it")),
        ),
        "uninstall": CommandVerb(uninstall, "stop the service and delete its file", (KIND,)),
    }
