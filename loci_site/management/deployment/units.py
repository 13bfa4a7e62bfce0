"""Texts of the service: a systemd unit and a launchd property list."""

import plistlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NAME: Final = "loci"
LABEL: Final = "org.loci-memory.loci"  # launchd names services like host names
SYSTEM_USER: Final = "loci"
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
        body += _system_lines(service)
    target = "multi-user.target" if service.is_system else "default.target"
    return "\n".join([*unit, "", *body, _FOR_ALL, "[Install]", f"WantedBy={target}", ""])


def _system_lines(service: Service) -> list[str]:
    """The lines of a service of the machine: its user, its folder, and what it may not reach."""
    is_in_a_home = any(
        path.is_relative_to(folder) for path in (Path(service.program[0]), service.home) for folder in _HOMES
    )
    folder = (
        ["StateDirectory=loci", "StateDirectoryMode=0700"]
        if service.home == STATE_FOLDER
        else [f"ReadWritePaths={quoted(str(service.home))}"]
    )
    return [
        f"User={SYSTEM_USER}",
        f"Group={SYSTEM_USER}",
        "# Variables such as LOCI_METRICS_TOKEN; all else is in config.toml in LOCI_HOME.",
        "EnvironmentFile=-/etc/loci/loci.env",
        *folder,
        f"ProtectHome={'read-only' if is_in_a_home else 'yes'}",
        _FOR_SYSTEM.rstrip(),
    ]


def quoted(word: str) -> str:
    """A word of a unit file: specifiers and variables are escaped, and a word with blanks or quotes is quoted."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if any(sign in escaped for sign in " \t\"'\\") else escaped


def launchd_plist(service: Service) -> str:
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
        plist["UserName"] = SYSTEM_USER
    return plistlib.dumps(plist).decode()
