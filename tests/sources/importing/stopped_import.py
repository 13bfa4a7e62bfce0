"""Imports a file in small batches and prints each finished line, so that a test can kill it in the middle."""

import sys
from pathlib import Path

import django

if __name__ == "__main__":
    django.setup()
    from access.tokens import operator
    from memories.store import bulk as batch
    from sources.importing import drafts
    from sources.importing.formats.texts import TEXTS
    from sources.importing.importer import LineRules

    batch.BATCH_DRAFTS = drafts.LINES_AT_ONCE = 20
    path = Path(sys.argv[1])

    def say(line: int) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    TEXTS.run(operator(), path, LineRules(path.stem), on_progress=say)
