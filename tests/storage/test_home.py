"""LOCI_HOME: its permissions and the secret key."""

import stat
import threading
from pathlib import Path

import pytest
from django.conf import settings

from loci_site.config import load_config
from loci_site.config.checks import home_messages, host_messages
from storage.home import ensure_home, secret_key


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_home_and_its_folders_are_for_the_owner_alone(tmp_path: Path) -> None:
    home = ensure_home(tmp_path / "a" / "home")
    assert mode_of(home) == 0o700
    assert {path.name: mode_of(path) for path in home.iterdir()} == dict.fromkeys(
        ("models", "keys", "backups", "logs"), 0o700
    )


def test_making_the_home_again_changes_nothing(tmp_path: Path) -> None:
    ensure_home(tmp_path / "home")
    (tmp_path / "home" / "keys" / "x").write_text("kept")
    ensure_home(tmp_path / "home")
    assert (tmp_path / "home" / "keys" / "x").read_text() == "kept"


def test_the_secret_key_is_long_private_and_stays(tmp_path: Path) -> None:
    first = secret_key(tmp_path)
    assert len(first) >= 64
    assert mode_of(tmp_path / "keys" / "django.key") == 0o600
    assert secret_key(tmp_path) == first
    assert secret_key(tmp_path / "other") != first


def test_processes_that_start_together_agree_on_the_key(tmp_path: Path) -> None:
    start, found = threading.Barrier(8), []

    def read() -> None:
        start.wait()
        found.append(secret_key(tmp_path))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["django.key"]


def test_django_uses_the_key_of_this_home(home: Path) -> None:
    assert str(settings.SECRET_KEY) == (home / "keys" / "django.key").read_text().strip()


def test_a_home_that_others_can_read_is_warned_of(tmp_path: Path) -> None:
    config = load_config({"LOCI_HOME": str(ensure_home(tmp_path / "home"))})
    assert home_messages(config) == []
    config.home.chmod(0o750)
    (warning,) = home_messages(config)
    assert (warning.id, warning.hint) == ("loci.W001", f"Run `chmod 700 {config.home}`.")


def test_a_home_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    config = load_config({"LOCI_HOME": str(tmp_path)})
    (tmp_path / "file").write_text("")
    object.__setattr__(config, "home", tmp_path / "file")
    assert [message.id for message in home_messages(config)] == ["loci.E004"]


@pytest.mark.parametrize(("host", "ids"), [("127.0.0.1", []), ("0.0.0.0", ["loci.W002"])])
def test_any_host_name_off_loopback_is_warned_of(tmp_path: Path, host: str, ids: list[str]) -> None:
    config = load_config({"LOCI_HOME": str(tmp_path), "LOCI_HOST": host, "LOCI_ALLOWED_HOSTS": "*"})
    assert [message.id for message in host_messages(config)] == ids
