"""Reading the file of a database that this process has open."""

import subprocess
import sys
from pathlib import Path

_READ = "import shutil, sys; shutil.copyfileobj(open(sys.argv[1], 'rb'), sys.stdout.buffer)"


def bytes_of(path: Path) -> bytes:
    """A file's bytes, read by a separate process.

    Where a process closes any handle of a file, POSIX takes its locks on that file away, SQLite's own among them: the
    next process that opens the database would think itself alone and remove the log beside it.
    """
    command = [sys.executable, "-IS", "-c", _READ, str(path)]
    return subprocess.run(command, check=True, capture_output=True).stdout
