"""The plugin for Claude Code: one version everywhere, every hook and skill whole."""

import json
import re
from pathlib import Path
from typing import Any

from loci_site import __version__
from loci_site.clients.catalogue import CLAUDE_EVENTS
from tests.settings import REPOSITORY

PLUGIN = REPOSITORY / "plugins" / "loci"


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def test_the_version_is_the_same_everywhere() -> None:
    marketplace = read(REPOSITORY / ".claude-plugin" / "marketplace.json")
    [plugin] = marketplace["plugins"]
    assert (plugin["version"], read(PLUGIN / ".claude-plugin" / "plugin.json")["version"]) == (
        __version__,
    ) * 2


def test_the_plugin_has_the_hooks_that_connect_writes() -> None:
    hooks = read(PLUGIN / "hooks" / "hooks.json")["hooks"]
    events = {event: entries[0]["hooks"][0]["args"] for event, entries in hooks.items()}
    assert events == {native: [name] for name, native in CLAUDE_EVENTS.items()}
    assert (PLUGIN / "hooks" / "loci-hook.sh").stat().st_mode & 0o111


def test_every_skill_says_when_it_is_for() -> None:
    skills = {path.parent.name: path.read_text() for path in PLUGIN.glob("skills/*/SKILL.md")}
    assert set(skills) == {"recall", "remember", "decide", "handover"}
    for name, text in skills.items():
        head = re.match(rf"---\nname: {name}\ndescription: (.+)\n---\n", text)
        assert head is not None
        assert "Use " in head[1]
