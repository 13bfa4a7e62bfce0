"""Folders that tests share."""

import shutil
from pathlib import Path


def empty_folder(folder: Path) -> None:
    """Empty a folder of this test process; make it if there is none."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
