"""Loci's settings: every key once, with type, default, unit, range and meaning; read from config.toml and the environment.

An environment variable wins over the file, the file over the default. All faults are reported together.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from access.errors import LociError
from loci_site.config_keys import Key, WrongValue, key, keys_of, nearest

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
class Server:
    """[server] where Loci listens."""

    host: str = key("127.0.0.1", "Address to listen on.", variable="LOCI_HOST")
    port: int = key(8000, "Port to listen on.", low=1, high=65_535, variable="LOCI_PORT")
    allowed_hosts: tuple[str, ...] = key(
        (), "Host names that clients may use; needed off loopback.", variable="LOCI_ALLOWED_HOSTS"
    )
    public_url: str = key(
        "", "Address that people and agents see, behind a proxy.", variable="LOCI_PUBLIC_URL"
    )
    allowed_origins: tuple[str, ...] = key(
        (), "Other web origins that may call Loci from a browser.", variable="LOCI_ALLOWED_ORIGINS"
    )
    workers: int = key(1, "Server processes; each loads the model.", low=1, high=64, variable="LOCI_WORKERS")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = key(
        "INFO", "Least level that is logged to stderr.", variable="LOCI_LOG_LEVEL"
    )
    db_threads: int = key(4, "Threads, thus connections, for database work in each process.", low=1, high=64)
    max_body_bytes: int = key(
        4 * 1024 * 1024, "Largest request that is read.", unit="bytes", low=1024, high=1024**3
    )


@dataclass(frozen=True)
class Storage:
    """[storage] where and how memories are kept."""

    database: Path = key(Path("memory.db"), "SQLite file; relative to LOCI_HOME.", variable="LOCI_DB")
    busy_timeout_s: float = key(
        20.0, "How long a write waits for another one.", unit="seconds", low=0.1, high=600
    )
    cache_mb: int = key(16, "SQLite's page cache for each connection.", unit="MiB", low=1, high=4096)
    max_content_chars: int = key(100_000, "Longest memory.", unit="characters", low=100, high=10_000_000)
    max_metadata_bytes: int = key(
        16_384, "Largest metadata of a memory, as JSON.", unit="bytes", low=2, high=10_000_000
    )
    max_tags: int = key(32, "Most tags on a memory.", low=0, high=1000)
    near_cosine: float = key(0.92, "From this similarity on, two memories are near ones.", low=0.5, high=1)
    same_cosine: float = key(0.97, "From this similarity on, they may say the same.", low=0.5, high=1)


@dataclass(frozen=True)
class Embedding:
    """[embedding] the model that turns text into vectors."""

    model_dir: Path | None = key(
        None,
        "Folder of your own with the model's files, taken instead of fetching them.",
        variable="LOCI_MODEL_DIR",
    )
    precision: Literal["fp16-weights", "fp32"] = key("fp16-weights", "How the weights are stored.")
    threads: int = key(0, "Threads of the model; 0 is one for each core.", low=0, high=256)
    query_cache: int = key(4096, "Vectors of questions kept in memory.", low=0, high=1_000_000)
    wait_s: float = key(
        3.0, "How long a recall waits for a model that loads.", unit="seconds", low=0, high=120
    )
    hub: bool = key(True, "Whether the model may be fetched from the model hub.")


@dataclass(frozen=True)
class Retrieval:
    """[retrieval] how memories are found."""

    mode: Literal["hybrid", "rrf", "weighted", "keyword", "vector"] = key(
        "hybrid", "How hits are found and fused."
    )
    max_results: int = key(10, "Memories in an answer when the caller does not say.", low=1, high=1000)
    token_budget: int = key(
        2000, "Length of an answer when the caller does not say.", unit="tokens", low=50, high=1_000_000
    )
    candidates: int = key(100, "Candidates taken from each of the two searches.", low=10, high=2000)
    rrf_k: int = key(60, "The constant of reciprocal rank fusion.", low=1, high=1000)
    weighted_vector: float = key(0.7, "Weight of meaning against words in mode weighted.", low=0, high=1)
    length_penalty: float = key(
        0.15, "What a long turn of a conversation loses for each doubling beyond 100 words.", low=0, high=1
    )
    access_flush_s: float = key(
        5.0, "How often access counts are written.", unit="seconds", low=0.1, high=3600
    )


@dataclass(frozen=True)
class Maintenance:
    """[maintenance] what is cleaned up, and when."""

    recall_log_days: int = key(90, "How long the log of recalls is kept.", unit="days", low=0, high=36_500)
    retention_days: int = key(
        30, "How long forgotten memories can be restored.", unit="days", low=0, high=36_500
    )


@dataclass(frozen=True)
class Access:
    """[access] groups and tokens."""

    default_group: str = key(
        "", "Group when neither the call nor the token names one.", variable="LOCI_GROUP"
    )
    token_days: int = key(0, "Life of a new token; 0 never expires.", unit="days", low=0, high=36_500)


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


SECTIONS: dict[str, type] = {
    "server": Server,
    "storage": Storage,
    "embedding": Embedding,
    "retrieval": Retrieval,
    "maintenance": Maintenance,
    "access": Access,
}
KEYS: dict[str, dict[str, Key]] = {name: keys_of(name, declared) for name, declared in SECTIONS.items()}


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
