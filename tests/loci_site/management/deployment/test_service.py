"""The service's file: one that systemd accepts and rates as closed, and that nothing but an installation writes."""

import os
import plistlib
import re
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from loci_site.management.commands import service as services
from loci_site.management.commands.service import (
    STATE_FOLDER,
    Service,
    ServiceError,
    check_readable,
    plan_service,
    program_words,
    quoted,
    systemd_unit,
)
from tests.settings import ENCRYPTION

ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")
TRUE = shutil.which("true") or "/bin/true"


def analysed(*words: str) -> str:
    """What systemd-analyze prints; the manager of a login needs a folder that a login has, and a build has not."""
    env = os.environ | {"XDG_RUNTIME_DIR": str(Path(words[-1]).parent)}
    done = subprocess.run(["systemd-analyze", *words], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@needs_systemd
@pytest.mark.parametrize("is_system", [True, False])
def test_systemd_finds_no_fault_in_the_unit(tmp_path: Path, is_system: bool) -> None:
    unit = tmp_path / "loci.service"
    program = tmp_path / "my programs" / "100% loci"  # what a unit file must escape
    program.parent.mkdir()
    program.symlink_to(TRUE)
    unit.write_text(systemd_unit(Service((str(program),), tmp_path / "a home", is_system)), encoding="utf-8")
    manager = () if is_system else ("--user",)
    said = analysed("verify", *manager, "--man=no", "--recursive-errors=no", str(unit))
    assert "loci.service" not in said, said


@needs_systemd
def test_systemd_rates_the_service_of_the_machine_as_well_closed(tmp_path: Path) -> None:
    unit = tmp_path / "loci.service"
    unit.write_text(systemd_unit(Service((TRUE,), STATE_FOLDER, is_system=True)), encoding="utf-8")
    said = analysed("security", "--offline=yes", "--no-pager", str(unit))
    found = re.search(r"Overall exposure level for loci\.service: ([\d.]+)", said)
    assert found, said
    assert float(found[1]) < 3.0  # of 10; systemd calls everything below 4.5 OK
    assert "StateDirectory=loci\n" in unit.read_text(encoding="utf-8")


def test_a_service_of_the_machine_sees_homes_only_if_it_lives_there() -> None:
    somewhere = systemd_unit(Service(("/opt/loci/bin/loci",), Path("/srv/loci"), is_system=True))
    assert "ProtectHome=yes\n" in somewhere
    assert "ReadWritePaths=/srv/loci\n" in somewhere
    at_home = systemd_unit(Service(("/home/ann/bin/loci",), STATE_FOLDER, is_system=True))
    assert "ProtectHome=read-only\n" in at_home


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("/srv/loci", "/srv/loci"),
        ("a b", '"a b"'),
        ("100%", "100%%"),
        ("$HOME", "$$HOME"),
        ('a"b\\', '"a\\"b\\\\"'),
    ],
)
def test_a_word_of_a_unit_stays_one_word(word: str, text: str) -> None:
    assert quoted(word) == text


def test_print_shows_the_file_and_writes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    out = StringIO()
    call_command("service", "install", "--user", "--print", stdout=out)
    assert f"Environment=LOCI_HOME={settings.LOCI.home}\n" in out.getvalue()
    assert "WantedBy=default.target" in out.getvalue()
    assert not [*tmp_path.iterdir()]


def test_macos_gets_a_property_list(tmp_path: Path) -> None:
    plan = plan_service(is_system=False, home=tmp_path, is_mac=True)
    plist = plistlib.loads(plan.text.encode())
    assert plan.path.name == "org.loci-memory.loci.plist"
    assert plist["ProgramArguments"][-1] == "up"
    assert plist["EnvironmentVariables"] == {"LOCI_HOME": str(tmp_path)}
    assert plist["KeepAlive"] == {"SuccessfulExit": False}
    assert "UserName" not in plist
    system = plan_service(is_system=True, home=tmp_path, is_mac=True)
    assert plistlib.loads(system.text.encode())["UserName"] == "loci"


def make_tool(folder: Path, name: str, *, status: int = 0) -> Path:
    """A program that notes how it was called, in place of the machine's service manager."""
    tool = folder / name
    tool.write_text(
        f'#!/bin/sh\necho "$@" >> {folder}/called\necho no bus >&2\nexit {status}\n', encoding="utf-8"
    )
    tool.chmod(0o755)
    return folder / "called"


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of somebody who is not root, with tools of their own first on the path."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ENCRYPTION:  # the command names every variable that it leaves out
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return tmp_path


@pytest.mark.skipif(sys.platform == "darwin", reason="systemd's commands")
def test_install_and_uninstall_leave_the_memories_alone(
    person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = make_tool(person, "systemctl")
    monkeypatch.setenv("LOCI_METRICS_TOKEN", "a secret of sixteen")
    unit = person / ".config/systemd/user/loci.service"
    out = StringIO()
    call_command("service", "install", "--user", stdout=out)
    assert unit.read_text(encoding="utf-8").startswith("[Unit]\n")
    assert called.read_text().splitlines() == ["--user daemon-reload", "--user enable --now loci"]
    assert "Not taken over from your shell: LOCI_METRICS_TOKEN." in out.getvalue()
    assert "sixteen" not in out.getvalue()
    out = StringIO()
    call_command("service", "uninstall", "--user", stdout=out)
    assert not unit.exists()
    assert called.read_text().splitlines()[2:] == ["--user disable --now loci", "--user daemon-reload"]
    assert f"are still in {settings.LOCI.home}" in out.getvalue()
    with pytest.raises(CommandError, match=r"There is no service at .*loci\.service"):
        call_command("service", "uninstall", "--user")


@pytest.mark.skipif(sys.platform == "darwin", reason="systemd's commands")
def test_a_tool_that_fails_is_named_with_its_words(person: Path) -> None:
    make_tool(person, "systemctl", status=1)
    with pytest.raises(CommandError, match=r"'systemctl --user daemon-reload' failed: no bus"):
        call_command("service", "install", "--user")


def test_only_root_changes_a_service_of_the_machine(person: Path) -> None:
    with pytest.raises(CommandError, match="Only root can change a service of the machine"):
        call_command("service", "install", "--system")


def test_a_program_that_others_cannot_enter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir(mode=0o700)
    with pytest.raises(ServiceError) as caught:
        check_readable([str(tmp_path / "bin" / "loci")])
    assert "pipx install --global" in caught.value.hint


def test_an_environment_of_uvx_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services.sys, "prefix", "/home/ann/.cache/uv/archive-v0/Xy1")
    with pytest.raises(ServiceError, match="uvx runs Loci from a cache"):
        program_words()
