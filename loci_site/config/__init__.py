"""Loci's settings (their keys stand in config_sections.py), read from config.toml and the environment.

An environment variable wins over the file, the file over the default. All faults are reported together.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from access.errors import LociError
from loci_site.config.keys import ConfigKey, WrongValue, keys_of, nearest
from loci_site.config.sections import SECTIONS, Access, Embedding, Maintenance, Retrieval, Server, Storage

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")
POSTGRES_SCHEMES = ("postgres", "postgresql")
REDIS_SCHEMES = ("redis", "rediss", "unix")


class ConfigError(LociError):
    """A setting is wrong; the text names each one, where it came from, its value and what is allowed."""

    code: ClassVar[str] = "wrong_settings"

    def __init__(self, faults: list[str]) -> None:
        super().__init__(
            "Loci cannot start, settings are wrong:\n" + "".join(f"  - {fault}\n" for fault in faults),
            hint="Correct them and start again; docs/reference/settings.md lists every key.",
        )
        self.faults = tuple(faults)

    def __str__(self) -> str:
        return self.message + self.hint


@dataclass(frozen=True)
class Config:
    """All settings of one process; frozen, read once at start."""

    home: Path
    server: Server = field(default_factory=Server)
    storage: Storage = field(default_factory=Storage)
    embedding: Embedding = field(default_factory=Embedding)
    retrieval: Retrieval = field(default_factory=Retrieval)
    maintenance: Maintenance = field(default_factory=Maintenance)
    access: Access = field(default_factory=Access)
    database_url: str = ""
    redis_url: str = ""

    @property
    def on_loopback(self) -> bool:
        """Only programs of this machine can reach the server."""
        return is_loopback(self.server.host)


KEYS: dict[str, dict[str, ConfigKey]] = {name: keys_of(name, declared) for name, declared in SECTIONS.items()}


def load_config(env: Mapping[str, str]) -> Config:
    """Read LOCI_HOME/config.toml and the environment into a checked Config. Writes nothing.

    Raises ConfigError that names every fault.
    """
    home = Path(env.get("LOCI_HOME", "").strip() or "~/.loci").expanduser().absolute()
    faults: list[str] = []
    values: dict[str, dict[str, Any]] = {
        name: {spec.name: spec.default_value(base=home) for spec in specs.values()}
        for name, specs in KEYS.items()
    }
    _read_file(home / "config.toml", values, faults)
    _read_environment(env, values, faults)
    sections = {name: declared(**values[name]) for name, declared in SECTIONS.items()}
    config = Config(
        home=home,
        database_url=env.get("DATABASE_URL", "").strip(),
        redis_url=env.get("REDIS_URL", "").strip(),
        **sections,
    )
    faults += _faults_between(config)
    if faults:
        raise ConfigError(faults)
    return config


def is_loopback(host: str) -> bool:
    """Say whether an address or name can be reached from this machine alone."""
    if host.casefold() in LOOPBACK_NAMES:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _read_file(path: Path, values: dict[str, dict[str, Any]], faults: list[str]) -> None:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as wrong:
        faults.append(f"{path} cannot be read: {wrong}")
        return
    for section, entries in table.items():
        if section not in KEYS or not isinstance(entries, dict):
            faults.append(_unknown_section(path, section))
            continue
        for name, value in entries.items():
            if name not in KEYS[section]:
                faults.append(f"{path}: [{section}] has no key {name}; {_place_of(section, name)}")
                continue
            try:
                values[section][name] = KEYS[section][name].checked(value, base=path.parent)
            except WrongValue as wrong:
                faults.append(f"{path}: [{section}] {name} is {value!r}, allowed is {wrong}")


def _unknown_section(path: Path, section: str) -> str:
    if section in KEYS:
        return f"{path}: {section} must be a section: write [{section}] on a line of its own"
    owners = [name for name, specs in KEYS.items() if section in specs]
    if owners:
        return f"{path}: {section} stands outside a section; it belongs under [{owners[0]}]"
    sections = ", ".join(KEYS)
    return f"{path}: there is no section [{section}]; {nearest(section, KEYS) or f'there are {sections}'}"


def _place_of(section: str, name: str) -> str:
    owners = [other for other, specs in KEYS.items() if name in specs]
    if owners:
        return f"it belongs under [{owners[0]}]"
    return nearest(name, KEYS[section]) or "its keys are " + ", ".join(KEYS[section])


def _read_environment(env: Mapping[str, str], values: dict[str, dict[str, Any]], faults: list[str]) -> None:
    known: set[str] = set()
    for section, specs in KEYS.items():
        for spec in specs.values():
            known.update(spec.variables)
            variable = next((name for name in spec.variables if env.get(name, "").strip()), None)
            if variable is None:  # an empty variable counts as not set
                continue
            try:
                values[section][spec.name] = spec.from_text(env[variable], base=Path.cwd())
            except WrongValue as wrong:
                faults.append(f"variable {variable} is {env[variable]!r}, allowed is {wrong}")
    prefixes = tuple(f"LOCI_{section}_".upper() for section in KEYS)
    strangers = sorted(name for name in env if name.startswith(prefixes) and name not in known)
    faults += [f"variable {name} sets no key; {nearest(name, known)}".rstrip("; ") for name in strangers]


def _faults_between(config: Config) -> list[str]:
    server, storage = config.server, config.storage
    faults = []
    if not config.on_loopback and not server.allowed_hosts:
        faults.append(
            f"server.host is {server.host!r}, which others can reach, and server.allowed_hosts is empty: "
            "list the host names that clients use, such as LOCI_ALLOWED_HOSTS=memory.example.org"
        )
    if storage.same_cosine < storage.near_cosine:
        faults.append(
            f"storage.same_cosine is {storage.same_cosine:g}, allowed is at least "
            f"storage.near_cosine ({storage.near_cosine:g})"
        )
    for name, url in [("server.public_url", server.public_url)] + [
        ("server.allowed_origins", origin) for origin in server.allowed_origins
    ]:
        if url and not _is_web_address(url):
            faults.append(f"{name} is {url!r}, allowed is an address such as https://memory.example.org")
    # The values of these two may hold a password, so they are not shown.
    if config.database_url and not _has_scheme(config.database_url, POSTGRES_SCHEMES):
        faults.append("variable DATABASE_URL, allowed is postgresql://user:password@host:port/name")
    if config.redis_url and not _has_scheme(config.redis_url, REDIS_SCHEMES):
        faults.append("variable REDIS_URL, allowed is redis://host:port/0")
    return faults


def _is_web_address(url: str) -> bool:
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
