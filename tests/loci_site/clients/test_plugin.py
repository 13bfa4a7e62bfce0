"""The plugin for Claude Code: one version everywhere, every hook and skill whole."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from access.clients import CLIENTS
from bench.scripts.bundle import filled, write_folder
from loci_site import __version__
from tests.settings import REPOSITORY

PLUGIN = REPOSITORY / "plugins" / "loci"


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def test_the_version_is_the_same_everywhere() -> None:
    marketplace = read(REPOSITORY / ".claude-plugin" / "marketplace.json")
    [plugin] = marketplace["plugins"]
    [package] = filled("server.json")["packages"]
    versions = {
        "marketplace": plugin["version"],
        "plugin": read(PLUGIN / ".claude-plugin" / "plugin.json")["version"],
        "extension": read(REPOSITORY / "extension" / "manifest.json")["version"],
        "bundle": filled("manifest.json")["version"],
        "registry": filled("server.json")["version"],
        "package": package["version"],
    }
    assert versions == dict.fromkeys(versions, __version__)


def test_the_registrys_entry_names_what_is_published() -> None:
    """The registry's rules: a name in reverse DNS that the package's README repeats, a short description, whole packages."""
    entry = filled("server.json")
    [package] = entry["packages"]
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert f"mcp-name: {entry['name']}" in (REPOSITORY / "README.md").read_text()
    assert len(entry["description"]) <= 100
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert (package["registryType"], package["identifier"]) == ("pypi", project["name"])
    assert package["identifier"] in project["scripts"]  # what uvx runs
    words = [each.get("value") or each["name"] for each in package["packageArguments"]]
    assert {each["type"] for each in package["packageArguments"]} == {"positional", "named"}
    assert (words, package["transport"]) == (["mcp", "--stdio"], {"type": "stdio"})


def test_a_bundle_has_what_its_manifest_names(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "loci")
    found = read(folder / "manifest.json")
    server = found["server"]
    assert {path.name for path in folder.iterdir()} == {
        "manifest.json", "pyproject.toml", server["entry_point"], found["icon"],
    }  # fmt: skip
    written = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert written["dependencies"] == [f"loci-team-memory=={__version__}"]
    named = re.findall(r"\$\{user_config\.(\w+)\}", json.dumps(server["mcp_config"]))
    assert set(named) == set(found["user_config"])
    assert found["user_config"]["token"]["sensitive"]
    compile((folder / server["entry_point"]).read_text(), "server.py", "exec")


def test_the_plugin_has_the_hooks_that_connect_writes() -> None:
    hooks = read(PLUGIN / "hooks" / "hooks.json")["hooks"]
    events = {event: entries[0]["hooks"][0]["args"] for event, entries in hooks.items()}
    assert events == {native: [name] for name, native in CLIENTS["claude-code"].files[1].events.items()}
    assert (PLUGIN / "hooks" / "loci-hook.sh").stat().st_mode & 0o111


def test_every_skill_says_when_it_is_for() -> None:
    skills = {path.parent.name: path.read_text() for path in PLUGIN.glob("skills/*/SKILL.md")}
    assert set(skills) == {"recall", "remember", "decide", "handover"}
    for name, text in skills.items():
        head = re.match(rf"---\nname: {name}\ndescription: (.+)\n---\n", text)
        assert head is not None
        assert "Use " in head[1]
