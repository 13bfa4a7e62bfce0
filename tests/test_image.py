"""The container's files: what the build gets, and what bench/scripts/image_steps.py makes of them."""

import re
from pathlib import Path

from bench.scripts.image_steps import copy_context, instructions, variables
from tests.settings import REPOSITORY

STEPS = instructions((REPOSITORY / "Dockerfile").read_text(encoding="utf-8"))


def test_the_build_gets_all_that_the_package_needs_and_no_more(tmp_path: Path) -> None:
    copy_context(tmp_path / "src")
    found = {path.name for path in (tmp_path / "src").iterdir()}
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    packages = re.findall(r'"(\w+)"', re.search(r"^only-include = \[(.*)\]$", project, re.M)[1])  # type: ignore[index]
    needed = {
        *packages,
        "docs",
        "templates",
        "hatch_build.py",
        "pyproject.toml",
        "requirements.lock",
        "README.md",
    }
    assert needed <= found
    assert not {"tests", "bench", ".git", ".venv"} & found
    assert not [*(tmp_path / "src").rglob("__pycache__")]
    assert not (tmp_path / "src" / "docs" / "images").exists()


def test_the_image_runs_as_nobody_in_particular_with_its_data_in_a_volume() -> None:
    final = [(word, rest) for stage, word, rest in STEPS if stage == "loci"]
    assert ("USER", "10001:10001") in final
    assert ("VOLUME", "/data") in final
    assert variables(STEPS)["LOCI_HOME"] == "/data"
    assert [stage for stage, word, _ in STEPS if word == "FROM"] == [
        "build",
        "model",
        "loci",
        "loci-with-model",
    ]
    assert sum(word == "HEALTHCHECK" for word, _ in final) == 1
