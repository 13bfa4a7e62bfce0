"""The extension's parsers and other pure parts, run by Node, and what its manifests ask for."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from bench.scripts.extension import SOURCE, manifest_for

HERE = Path(__file__).parent
LONGEST_S = 60


def test_the_parts_that_need_no_browser() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not here")
    files = sorted(str(path) for path in HERE.glob("*.test.mjs"))
    done = subprocess.run(
        [node, "--test", *files], capture_output=True, text=True, timeout=LONGEST_S, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.fixture
def manifest() -> dict[str, object]:
    found: dict[str, object] = json.loads((SOURCE / "manifest.json").read_text(encoding="utf-8"))
    return found


def test_it_asks_for_few_rights(manifest: dict[str, object]) -> None:
    assert manifest["permissions"] == [
        "storage", "unlimitedStorage", "alarms", "scripting", "contextMenus", "sidePanel",
    ]  # fmt: skip
    assert manifest["host_permissions"] == [
        "https://claude.ai/*", "https://chatgpt.com/*", "http://127.0.0.1/*", "http://localhost/*",
    ]  # fmt: skip
    # A site that is off gets no script.
    assert "content_scripts" not in manifest


def test_one_source_makes_both_manifests(manifest: dict[str, object]) -> None:
    chrome, firefox = manifest_for("chrome", manifest), manifest_for("firefox", manifest)
    assert chrome["background"] == {"service_worker": "background/main.js", "type": "module"}
    assert firefox["background"] == {"scripts": ["background/main.js"], "type": "module"}
    assert ("side_panel" in chrome, "side_panel" in firefox) == (True, False)
    assert ("sidebar_action" in chrome, "sidebar_action" in firefox) == (False, True)
    assert "sidePanel" not in firefox["permissions"]


def test_every_file_that_is_named_is_there(manifest: dict[str, object]) -> None:
    for page in (SOURCE / "pages").glob("*.html"):
        for name in (f"{page.stem}.css", f"{page.stem}.js", "shared.css"):
            assert (page.parent / name).exists()
            assert name in page.read_text(encoding="utf-8")
    icons = manifest["icons"]
    assert isinstance(icons, dict)
    assert all((SOURCE / path).exists() for path in icons.values())
