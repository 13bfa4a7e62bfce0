"""Processes mark the SQLite files that they have open, and exclusive access is refused meanwhile."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from storage.sqlite.dialect import FileInUse, exclusive_access, mark_open
from tests.settings import REPOSITORY

HOLD = (
    "import sys; from pathlib import Path; from storage.sqlite import dialect as in_use; path = Path(sys.argv[1]);"
    "{hold}; print('there', flush=True); sys.stdin.read()"
)


@contextmanager
def other_process(path: Path, hold: str) -> Iterator[None]:
    """Another process that holds the file during the block."""
    command = [sys.executable, "-c", HOLD.format(hold=hold), str(path)]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        yield
        process.kill()


def test_nobody_is_alone_with_a_file_that_another_has_open(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with other_process(path, "in_use.mark_open(path, timeout_s=1)"):
        mark_open(path, timeout_s=1)  # any number may have it open
        with pytest.raises(FileInUse, match="is open in another process"), exclusive_access(path):
            pass
    # The other one was killed, and left nothing behind.
    with exclusive_access(path):
        mark_open(path, timeout_s=0)  # its own connections


def test_who_comes_while_another_is_alone_with_it_waits_and_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    is_restored = pytest.raises(FileInUse, match=r"x\.db is being restored")
    with other_process(path, "alone = in_use.exclusive_access(path); alone.__enter__()"), is_restored:
        mark_open(path, timeout_s=0.1)
    mark_open(path, timeout_s=0.1)
    assert (tmp_path / "x.db.lock").stat().st_mode & 0o777 == 0o600
