"""Readers of config.toml and of environment variables: each fills `values` and returns the errors it found."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loci_site.config.keys import ConfigKey, WrongValue, keys_of, nearest
from loci_site.config.sections import REMOVED, SECTIONS

KEYS: dict[str, dict[str, ConfigKey]] = {name: keys_of(name, declared) for name, declared in SECTIONS.items()}


def read_file(path: Path, values: dict[str, dict[str, Any]]) -> list[str]:
    """Read config.toml into `values`; a missing file is not an error. Relative paths start at its folder."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return [f"{path} cannot be read: {error}"]
    errors = []
    for section, entries in table.items():
        if section not in KEYS or not isinstance(entries, dict):
            errors.append(f"{path}: {_describe_wrong_section(section)}")
            continue
        for name, value in entries.items():
            if name in REMOVED.get(section, ()):
                continue
            if name not in KEYS[section]:
                errors.append(f"{path}: {_describe_unknown_key(section, name)}")
                continue
            try:
                values[section][name] = KEYS[section][name].checked(value, base=path.parent)
            except WrongValue as allowed:
                shown = "wrong" if KEYS[section][name].is_secret else repr(value)
                errors.append(f"{path}: [{section}] {name} is {shown}; it must be {allowed}")
    return errors


def read_environment(env: Mapping[str, str], values: dict[str, dict[str, Any]]) -> list[str]:
    """Read LOCI_… variables into `values`; an empty one counts as unset. Relative paths start at the current folder."""
    errors = []
    known = {f"LOCI_{section}_{name}".upper() for section, names in REMOVED.items() for name in names}
    for section, specs in KEYS.items():
        for spec in specs.values():
            known.update(spec.variables)
            variable = next((name for name in spec.variables if env.get(name, "").strip()), None)
            if variable is None:
                continue
            try:
                values[section][spec.name] = spec.from_text(env[variable], base=Path.cwd())
            except WrongValue as allowed:
                errors.append(f"variable {variable} is {env[variable]!r}; it must be {allowed}")
    prefixes = tuple(f"LOCI_{section}_".upper() for section in KEYS)
    unknown = sorted(name for name in env if name.startswith(prefixes) and name not in known)
    return errors + [f"variable {name} sets no key; {nearest(name, known)}".rstrip("; ") for name in unknown]


def stated_settings(path: Path) -> dict[str, dict[str, Any]]:
    """The sections of config.toml; empty if there is no readable file."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return {}
    return {name: entries for name, entries in table.items() if isinstance(entries, dict)}


def removed_settings(path: Path, env: Mapping[str, str]) -> list[str]:
    """The former settings that config.toml or the environment still sets; `path` may be missing or wrong."""
    found = []
    stated = stated_settings(path)
    for section, names in REMOVED.items():
        for name in names:
            variable = f"LOCI_{section}_{name}".upper()
            if name in stated.get(section, {}):
                found.append(f"{section}.{name}")
            elif env.get(variable, "").strip():
                found.append(variable)
    return found


def _describe_wrong_section(section: str) -> str:
    """What is wrong with a top-level name of config.toml, and where it belongs."""
    if section in KEYS:
        return f"{section} must be a section: write [{section}] on a line of its own"
    owners = [name for name, specs in KEYS.items() if section in specs]
    if owners:
        return f"{section} is outside a section; it belongs under [{owners[0]}]"
    return f"no section [{section}]; " + (nearest(section, KEYS) or "the sections are " + ", ".join(KEYS))


def _describe_unknown_key(section: str, name: str) -> str:
    """Why the key is not accepted: the section it belongs to, the nearest name, or the section's keys."""
    owners = [other for other, specs in KEYS.items() if name in specs]
    if (section, name) == ("guard", "classifier"):
        remedy = "write judges.folders = ['injections=FOLDER'] (docs/how-to/models.md)"
    elif owners:
        remedy = f"it belongs under [{owners[0]}]"
    else:
        remedy = nearest(name, KEYS[section]) or "its keys are " + ", ".join(KEYS[section])
    return f"[{section}] has no key {name}; {remedy}"
