"""docs/reference/settings.md: every key with its type, default and variables."""

from pathlib import Path
from typing import Any

from bench.reference import markdown as md
from loci_site.config import KEYS
from loci_site.config.sections import SECTIONS

INTRO = """\
Loci reads `config.toml` in `LOCI_HOME` (default `~/.loci`) and the environment; an environment variable overrides the
file, the file overrides the default. Every value is checked at start: the error names the key, the value and the allowed
values. Five more variables have no key: `LOCI_HOME`, `REDIS_URL` (Redis), `DATABASE_URL` (PostgreSQL;
[how to](../how-to/postgresql.md)), `DATABASE_REPLICA_URL` (a streaming replica of it; [how to](../how-to/postgresql.md#read-replicas)) and
`LOCI_DB_KEY` (the key of an encrypted store; [how to](../how-to/encrypt.md)).

```toml
[server]
port = 8080

[access]
default_group = "ledger"
```"""


def page() -> str:
    """The page as Markdown."""
    return md.page("Settings", INTRO, *(render_section(name) for name in SECTIONS))


def render_section(name: str) -> str:
    """The keys of one section, with the meaning from its docstring."""
    meaning = (SECTIONS[name].__doc__ or "").split("] ", 1)[-1]
    rows = []
    for key in KEYS[name].values():
        variables = " ".join(md.code(variable) for variable in key.variables)
        rows.append([md.code(key.name), key.meaning, key.allowed, render_default(key.default), variables])
    header = ("key", "what it is", "allowed", "default", "environment")
    return f"## [{name}]\n\n{meaning[:1].upper()}{meaning[1:]}\n\n{md.table(header, rows)}"


def render_default(value: Any) -> str:
    """A default as code, in the spelling of config.toml; "none" if it is empty."""
    if value is None or value == "" or value == ():
        return "none"
    if isinstance(value, bool):
        return md.code(str(value).lower())
    if isinstance(value, tuple):
        return md.code(", ".join(value))
    return md.code(value.as_posix() if isinstance(value, Path) else str(value))
