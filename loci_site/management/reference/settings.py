"""docs/reference/settings.md: every key with its type, default and variables."""

from pathlib import Path
from typing import Any

from loci_site.config import KEYS
from loci_site.config.keys import ConfigKey
from loci_site.config.sections import SECTIONS
from loci_site.management.reference import markdown as md

INTRO = """\
Loci reads `config.toml` in `LOCI_HOME` (default `~/.loci`) and the environment; a variable wins over the file, the file
over the default. Every value is checked at start: a wrong one names the key, the value and what is allowed. Three more
variables have no key: `LOCI_HOME`, `DATABASE_URL` (PostgreSQL) and `REDIS_URL` (Redis).

```toml
[server]
port = 8080

[access]
default_group = "ledger"
```"""


def page() -> str:
    """Give the page."""
    return md.page("Settings", INTRO, *(_section(name) for name in SECTIONS))


def _section(name: str) -> str:
    meaning = (SECTIONS[name].__doc__ or "").split("] ", 1)[-1]
    rows = [_row(key) for key in KEYS[name].values()]
    header = ("key", "what it is", "allowed", "default", "environment")
    return f"## [{name}]\n\n{meaning[:1].upper()}{meaning[1:]}\n\n{md.table(header, rows)}"


def _row(key: ConfigKey) -> list[str]:
    variables = " ".join(md.code(name) for name in key.variables)
    return [md.code(key.name), key.rule.meaning, key.allowed, _default(key.default), variables]


def _default(value: Any) -> str:
    if value is None or value == "" or value == ():
        return "none"
    if isinstance(value, bool):
        return md.code(str(value).lower())
    return md.code(
        ", ".join(value)
        if isinstance(value, tuple)
        else str(value)
        if not isinstance(value, Path)
        else value.as_posix()
    )
