"""Each setting with its value and where it comes from."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from loci_site.config import SettingRow, effective_settings, load_config
from tests.people import alice, bob, ledger

__all__ = ["alice", "bob", "ledger"]


def rows(home: Path, **env: str) -> dict[str, SettingRow]:
    config = load_config({"LOCI_HOME": str(home), **env})
    return {f"{row.section}.{row.name}": row for row in effective_settings(config, env)}


def test_a_variable_counts_more_than_the_file_and_the_file_more_than_the_default(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        '[server]\nport = 8080\nallowed_hosts = ["a.example", "b.example"]\n'
    )
    found = rows(tmp_path, LOCI_PORT="9000")
    assert [
        (found[name].value, found[name].origin)
        for name in ("server.port", "server.allowed_hosts", "server.host")
    ] == [
        ("9000", "LOCI_PORT"),
        ("a.example, b.example", "config.toml"),
        ("127.0.0.1", "default"),
    ]


def test_what_the_file_says_since_the_start_is_told_apart(tmp_path: Path) -> None:
    config = load_config({"LOCI_HOME": str(tmp_path)})
    (tmp_path / "config.toml").write_text("[server]\nport = 8080\n")
    port = next(row for row in effective_settings(config, {}) if row.name == "port")
    assert (port.value, port.coming) == ("8000", "8080")


@pytest.mark.parametrize("password", ["redis://:s3cret-word@127.0.0.1:6379/0"])
def test_a_password_is_not_among_them(tmp_path: Path, password: str) -> None:
    assert "s3cret" not in str(rows(tmp_path, REDIS_URL=password))


def test_the_page_is_for_superusers(alice: User, bob: User) -> None:
    owner, curator = Client(), Client()
    owner.force_login(alice)
    curator.force_login(bob)
    shown = owner.get("/admin/settings/instance/").content.decode()
    assert "prepare_threshold" in shown
    found = owner.get("/admin/settings/instance/?q=server port").content.decode()
    assert "<code>port</code>" in found
    assert "prepare_threshold" not in found
    assert curator.get("/admin/settings/instance/").status_code == 403
