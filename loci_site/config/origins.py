"""Where each setting's value comes from: a variable, config.toml, or the default."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loci_site.config import KEYS, Config

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
    stated = _read_table(config.home / FILE)
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


def _read_table(path: Path) -> dict[str, dict[str, Any]]:
    """The sections of config.toml; empty if there is no readable file."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return {}
    return {name: entries for name, entries in table.items() if isinstance(entries, dict)}


def _show_value(value: Any) -> str:
    """A value in the spelling of config.toml; "none" if it is empty."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value in (None, "") else str(value)
