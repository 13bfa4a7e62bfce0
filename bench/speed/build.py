"""Stores of made-up memories, built once per size and kept under .proof/speed."""

import shutil
import subprocess
import sys
from pathlib import Path

from bench.proof.home import environment, installed_models
from bench.proof.proof import FOLDER, REPOSITORY

CACHE = FOLDER / "speed"
BUILT = "built.json"
RECIPE = 3  # counts changes of what is built: an older store is built anew


def build(size: int) -> Path:
    """The folder of a store of this size, built if there is none of this recipe."""
    folder = CACHE / f"{size}-{RECIPE}"
    if (folder / BUILT).exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    (folder / "models").symlink_to(installed_models())
    command = [sys.executable, "-m", "bench.speed.store", str(size), str(CACHE / f"seeds-{RECIPE}.npy")]
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment(folder), stdout=subprocess.PIPE, check=True
    )
    (folder / BUILT).write_bytes(done.stdout)
    return folder
