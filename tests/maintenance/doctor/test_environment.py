"""Doctor checks of the environment: disk, backups and file permissions."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from pytest_django import Settings

from access.tokens import operator
from maintenance.doctor import CheckStatus, Diagnosis, Finding, examine, repair
from maintenance.doctor.environment import exposed_files
from memories.models import Memory

Remember = Callable[..., Memory]
pytestmark = pytest.mark.django_db


def wrong(diagnosis: Diagnosis) -> dict[str, str]:
    return {f.check: f.detail for f in diagnosis.findings if f.verdict is CheckStatus.WRONG}


def found(check: str) -> Finding:
    (finding,) = [one for one in examine(operator(), quick=True).findings if one.check == check]
    return finding


@pytest.fixture
def elsewhere(settings: Settings, tmp_path: Path) -> Path:
    """A LOCI_HOME of the test's own."""
    settings.LOCI = replace(settings.LOCI, home=tmp_path)
    for name in ("backups", "keys"):
        (tmp_path / name).mkdir(parents=True, mode=0o700)
    tmp_path.chmod(0o700)
    return tmp_path


def aged(path: Path, *, days: float) -> Path:
    path.write_bytes(b"x")
    at = time.time() - days * 86_400
    os.utime(path, (at, at))
    return path


def test_the_age_of_the_newest_backup_is_told(elsewhere: Path, remember: Remember) -> None:
    assert found("backups").detail == "nothing to back up yet"
    remember("The port is 8081")
    assert (found("backups").verdict, found("backups").detail) == (CheckStatus.NOTICE, "there are none yet")
    aged(elsewhere / "backups/loci-20260101T000000Z-aaaa.zip", days=15)
    assert (
        wrong(examine(operator(), quick=True))["backups"]
        == "the newest is 15.0 days old; one is due every 7 days"
    )
    aged(elsewhere / "backups/loci-20260108T000000Z-bbbb.zip", days=6)
    assert (found("backups").verdict, found("backups").detail) == (
        CheckStatus.OK,
        "the newest is 6.0 days old",
    )


def test_files_that_others_can_read_are_found_and_closed(elsewhere: Path) -> None:
    config = elsewhere / "config.toml"
    config.write_text("")
    config.chmod(0o644)
    assert "home" not in wrong(examine(operator(), quick=True))  # the folder guards it
    outer = [folder for folder in elsewhere.parents if folder.name.startswith(("pytest", "popen"))]
    for folder in (elsewhere, *outer):
        folder.chmod(0o755)
    try:
        assert [path.name for path in exposed_files()] == ["config.toml"]
        assert wrong(examine(operator(), quick=True))["home"] == "others can read config.toml"
        assert "made 2 files and folders readable by their owner only" in repair(operator()).repairs
        assert "home" not in wrong(examine(operator(), quick=True))
        assert (elsewhere.stat().st_mode & 0o777, config.stat().st_mode & 0o777) == (0o700, 0o600)
    finally:
        for folder in outer:
            folder.chmod(0o700)


def test_a_disk_with_too_little_room_says_how_much_is_needed(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=195_000_000))
    assert wrong(examine(operator(), quick=True))["disk"] == "195 MB free; 200 MB are needed"
