"""Loci's settings, read from config.toml and the environment; `sections.py` declares the keys.

An environment variable overrides the file, the file overrides the default. All errors are reported together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from access.errors import LociError
from loci_site.config.readers import KEYS, read_environment, read_file, stated_settings
from loci_site.config.sections import (
    LOOPBACK_NAMES,
    SECTIONS,
    Config,
    find_notification_conflicts,
    find_sign_in_conflicts,
    is_loopback,
)
from storage.encryption import KEY_BYTES, KEY_TEXT, VARIABLE

__all__ = ["KEYS", "LOOPBACK_NAMES", "Config", "ConfigError", "is_loopback", "load_config"]

_SHORTEST_SECRET = 16  # characters
_REDIS_SCHEMES = ("redis", "rediss", "unix")
DATABASE_SCHEMES = ("postgresql", "postgres")


class ConfigError(LociError):
    """Settings are wrong; the message names each one with its source, its value and the allowed values."""

    code: ClassVar[str] = "wrong_settings"

    def __init__(self, errors: list[str]) -> None:
        super().__init__(
            "Loci cannot start because of wrong settings:\n" + "".join(f"  - {error}\n" for error in errors),
            hint="Correct them and start again; docs/reference/settings.md lists every key.",
        )
        self.errors = tuple(errors)

    def __str__(self) -> str:
        return self.message + self.hint


def load_config(env: Mapping[str, str]) -> Config:
    """The checked Config from LOCI_HOME/config.toml and the environment. Writes nothing.

    Raises:
        ConfigError: lists every error found.
    """
    home = Path(env.get("LOCI_HOME", "").strip() or "~/.loci").expanduser().absolute()
    values: dict[str, dict[str, Any]] = {
        name: {spec.name: spec.default_value(base=home) for spec in specs.values()}
        for name, specs in KEYS.items()
    }
    errors = read_file(home / "config.toml", values)
    errors += read_environment(env, values)
    sections = {name: declared(**values[name]) for name, declared in SECTIONS.items()}
    config = Config(
        home=home,
        redis_url=env.get("REDIS_URL", "").strip(),
        database_key=env.get(VARIABLE, "").strip(),
        database_url=env.get("DATABASE_URL", "").strip(),
        replica_url=env.get("DATABASE_REPLICA_URL", "").strip(),
        **sections,
    )
    errors += _find_conflicts(config) + _find_key_conflicts(config)
    if errors:
        raise ConfigError(errors)
    return config


def _find_conflicts(config: Config) -> list[str]:
    """Errors that only show between settings, or in the addresses they hold."""
    server = config.server
    errors = []
    if not config.on_loopback and not server.allowed_hosts:
        errors.append(
            f"server.host is {server.host!r}, which other machines can reach, but server.allowed_hosts is empty: "
            "list the host names that clients use, such as LOCI_ALLOWED_HOSTS=memory.example.org"
        )
    if 0 < len(server.metrics_token) < _SHORTEST_SECRET:
        errors.append(
            f"server.metrics_token is too short; it must have at least {_SHORTEST_SECRET} characters"
        )
    for name, url in [("server.public_url", server.public_url)] + [
        ("server.allowed_origins", origin) for origin in server.allowed_origins
    ]:
        if url and not _is_web_address(url):
            errors.append(f"{name} is {url!r}; it must be an address such as https://memory.example.org")
    errors.extend(find_sign_in_conflicts(config.sign_in))
    errors.extend(find_notification_conflicts(config.notifications))
    # They may contain a password, so their values are not shown.
    if config.redis_url and not _has_scheme(config.redis_url, _REDIS_SCHEMES):
        errors.append("variable REDIS_URL must have the form redis://host:port/0")
    if config.database_url and not _has_scheme(config.database_url, DATABASE_SCHEMES):
        errors.append(
            "variable DATABASE_URL must have the form postgresql://user@host:port/name; for SQLite unset it: the setting "
            "storage.database names the file"
        )
    if config.replica_url and not (config.database_url and _has_scheme(config.replica_url, DATABASE_SCHEMES)):
        errors.append(
            "variable DATABASE_REPLICA_URL must have the form postgresql://user@host:port/name, and DATABASE_URL must name"
            " the database that it is a replica of"
        )
    return errors


def _find_key_conflicts(config: Config) -> list[str]:
    """Errors in the settings that locate an encrypted store's key; the key itself is read later."""
    storage, file = config.storage, config.storage.key_file
    if storage.encryption == "none":
        return []
    errors = []
    if [bool(config.database_key), file is not None, storage.key_in_keyring].count(True) != 1:
        errors.append(
            f"storage.encryption is {storage.encryption}, so exactly one of storage.key_file, the variable {VARIABLE} and "
            "storage.key_in_keyring must say where the key is"
        )
    if config.database_key and not KEY_TEXT.fullmatch(config.database_key):
        errors.append(f"variable {VARIABLE} must have {2 * KEY_BYTES} hexadecimal digits")
    if file is not None and file.resolve().is_relative_to(config.home.resolve()):
        errors.append(
            f"storage.key_file is {str(file)!r}, inside LOCI_HOME: whoever takes the folder would have the key; "
            "name a file outside of it"
        )
    return errors


def _is_web_address(url: str) -> bool:
    """True for an http or https URL with a host and, if it names one, a valid port."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


def _has_scheme(url: str, schemes: tuple[str, ...]) -> bool:
    try:
        return urlsplit(url).scheme in schemes
    except ValueError:
        return False


FILE, DEFAULT = "config.toml", "default"


@dataclass(frozen=True)
class SettingRow:
    """One setting as this process runs with it. `coming`: another value in the file, which counts after a restart."""

    section: str
    name: str
    value: str
    origin: str
    meaning: str
    coming: str = ""


def effective_settings(config: Config, env: Mapping[str, str]) -> list[SettingRow]:
    """Every setting in the order of the reference; the value of REDIS_URL, which may hold a password, is not among them."""
    stated = stated_settings(config.home / FILE)
    rows = []
    for section, specs in KEYS.items():
        for name, spec in specs.items():
            running = getattr(getattr(config, section), name)
            variable = next((each for each in spec.variables if env.get(each, "").strip()), None)
            in_file = stated.get(section, {}).get(name)
            coming = ""
            if variable is None:
                planned = (
                    spec.default_value(base=config.home)
                    if in_file is None
                    else checked(spec, in_file, config)
                )
                coming = _show_value(planned) if planned != running else ""
            origin = variable or (FILE if in_file is not None else DEFAULT)
            shown = _show_value(running)
            if spec.is_secret:
                shown, coming = ("set" if running else "none"), ("another one" if coming else "")
            rows.append(SettingRow(section, name, shown, origin, spec.meaning, coming))
    return rows


def checked(spec: Any, value: Any, config: Config) -> Any:
    """The file's value in the key's type; the file's own text if it is not allowed."""
    try:
        return spec.checked(value, base=config.home)
    except ValueError:
        return value


def _show_value(value: Any) -> str:
    """A value in the spelling of config.toml; "none" if it is empty."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value in (None, "") else str(value)
