"""The key comes from one place outside LOCI_HOME, is checked, and never shown."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pytest_django import Settings

from loci_site.config import ConfigError, load_config
from storage import encryption
from storage.encryption import DatabaseKey, KeyProblem, database_key, make_key

HEX = "0123456789abcdef" * 4
ON = "[storage]\nencryption = 'sqlcipher'\n"


@pytest.fixture(autouse=True)
def nothing_cached() -> Iterator[None]:
    encryption._read.cache_clear()
    yield
    encryption._read.cache_clear()


def use(settings: Settings, home: Path, lines: str, **env: str) -> None:
    """Settings of a home with these lines under [storage]."""
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(ON + lines)
    settings.LOCI = load_config({"LOCI_HOME": str(home), **env})


@pytest.mark.parametrize(
    ("lines", "env", "words"),
    [
        ("", {}, "exactly one of storage.key_file, the variable LOCI_DB_KEY and storage.key_in_keyring"),
        ("key_file = '/etc/loci.key'\n", {"LOCI_DB_KEY": HEX}, "exactly one of"),
        ("key_file = 'db.key'\n", {}, "inside LOCI_HOME: whoever takes the folder would have the key"),
        ("", {"LOCI_DB_KEY": HEX[:-1]}, "variable LOCI_DB_KEY must have 64 hexadecimal digits"),
    ],
)
def test_a_place_that_does_not_hold_is_refused_at_start(
    tmp_path: Path, lines: str, env: dict[str, str], words: str
) -> None:
    (tmp_path / "config.toml").write_text(ON + lines)
    with pytest.raises(ConfigError, match=words) as caught:
        load_config({"LOCI_HOME": str(tmp_path), **env})
    assert HEX[:-1] not in str(caught.value)


def test_a_key_file_behind_a_link_into_the_home_is_inside(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "keys").mkdir(parents=True)
    (tmp_path / "outside").symlink_to(home / "keys")
    (home / "config.toml").write_text(f"{ON}key_file = '{tmp_path}/outside/db.key'\n")
    with pytest.raises(ConfigError, match="inside LOCI_HOME"):
        load_config({"LOCI_HOME": str(home)})


def test_the_variable_and_the_file_give_the_same_key(settings: Settings, tmp_path: Path) -> None:
    use(settings, tmp_path / "home", "", LOCI_DB_KEY=HEX)
    first = database_key()
    (tmp_path / "db.key").write_text(f"{HEX.upper()}\n")
    use(settings, tmp_path / "home", f"key_file = '{tmp_path}/db.key'\n")
    second = database_key()
    assert first is not None
    assert second is not None
    assert first.raw == second.raw == bytes.fromhex(HEX)
    assert HEX not in f"{first!r} {settings.LOCI!r}"


def test_a_store_that_is_not_encrypted_or_on_postgresql_has_none(settings: Settings, tmp_path: Path) -> None:
    settings.LOCI = load_config({"LOCI_HOME": str(tmp_path), "LOCI_DB_KEY": HEX})
    assert database_key() is None
    use(settings, tmp_path / "home", "", LOCI_DB_KEY=HEX)
    settings.LOCI = replace(settings.LOCI, database_url="postgresql://loci@db/loci")
    assert database_key() is None


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "No such file"), ("short", "must have 64 hexadecimal digits"), ("ß", "must have")],
)
def test_a_missing_or_malformed_file_is_one_sentence_without_its_content(
    settings: Settings, tmp_path: Path, content: str | None, words: str
) -> None:
    file = tmp_path / "db.key"
    if content is not None:
        file.write_text(content)
    use(settings, tmp_path / "home", f"key_file = '{file}'\n")
    with pytest.raises(KeyProblem, match=words) as caught:
        database_key()
    assert f"storage.key_file ({file})" in str(caught.value)
    assert content is None or content not in str(caught.value)


def test_a_new_key_is_its_owners_and_never_replaced(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "etc" / "db.key"
    use(settings, tmp_path / "home", f"key_file = '{file}'\n")
    made = make_key()
    assert made == database_key()
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(KeyProblem, match="exists already; it was not replaced"):
        make_key()
    assert database_key() == made


def test_the_keyring_is_asked_by_its_own_package(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(settings, tmp_path / "home", "key_in_keyring = true\n")
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(KeyProblem, match="pip install keyring"):
        database_key()
    # Its two functions, as the package has them: a machine that runs tests has no keyring.
    (tmp_path / "keyring.py").write_text(
        "stored = {}\n"
        "def get_password(service, name): return stored.get((service, name))\n"
        "def set_password(service, name, text): stored[service, name] = text\n"
    )
    monkeypatch.delitem(sys.modules, "keyring")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyProblem, match="The keyring has no key"):
        database_key()
    made = make_key()
    assert isinstance(made, DatabaseKey)
    assert database_key() == made
    with pytest.raises(KeyProblem, match="has a key already"):
        make_key()
    sys.modules.pop("keyring")
