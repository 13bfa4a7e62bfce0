"""The clients that Loci connects, and what each of their files gets: the table `clients.toml`, read. Standard library only."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final, Literal

from access.errors import InvalidInput

USER, PROJECT = "user", "project"
# What the parts of --hooks stand for.
HOOK_PARTS: Final[dict[str, tuple[str, ...]]] = {
    "start": ("session-start",),
    "prompt": ("prompt",),
    "capture": ("prompt", "stop", "pre-compact", "post-compact", "session-end"),
}


@dataclass(frozen=True)
class ConfigFile:
    """A file of a client, as the head of `clients.toml` describes it; `paths` by scope."""

    paths: Mapping[str, str]
    format: Literal["json", "toml"] = "json"
    server_keys: tuple[str, ...] = ()
    server: Mapping[str, Any] | None = None
    events: Mapping[str, str] = field(default_factory=dict)
    hook: Mapping[str, Any] | None = None
    always: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ClientSpec:
    """A client: its files, and what its person has to know or do."""

    title: str
    files: tuple[ConfigFile, ...]
    note: str = ""

    @property
    def has_hooks(self) -> bool:
        return any(file.hook for file in self.files)

    @property
    def scopes(self) -> tuple[str, ...]:
        """What its token has to have, and no more."""
        return ("read", "write", *(["hook"] if self.has_hooks else []))


def filled(template: Any, words: Mapping[str, str]) -> Any:
    """A value of the table in which each text such as {url} is replaced by its word."""
    if isinstance(template, Mapping):
        return {name: filled(value, words) for name, value in template.items()}
    if isinstance(template, list):
        return [filled(value, words) for value in template]
    return words.get(template, template) if isinstance(template, str) else template


def _read_client(title: str, files: list[dict[str, Any]], note: str = "") -> ClientSpec:
    found = []
    for entry in files:
        paths = {scope: entry.pop(scope) for scope in (USER, PROJECT) if scope in entry}
        found.append(ConfigFile(paths, **entry | {"server_keys": tuple(entry.get("server_keys", ()))}))
    return ClientSpec(title, tuple(found), note)


_TABLE: Final = tomllib.loads((files("access") / "clients.toml").read_text(encoding="utf-8"))
CLIENTS: Final[dict[str, ClientSpec]] = {name: _read_client(**entry) for name, entry in _TABLE.items()}


def find_client(name: str) -> ClientSpec:
    """The client of this name. Raises InvalidInput."""
    if name not in CLIENTS:
        raise InvalidInput(f"'{name}' is not a client.", hint=f"Use {', '.join(CLIENTS)}.", field="client")
    return CLIENTS[name]
