"""The process behind tests.shell; it takes its home from the environment, so it must not import the tests' settings."""

import contextlib
import io
import json
import os
import sys

import time_machine
from django.db import connections

from loci_site.management.cli import main


def answer_commands() -> None:
    """Run the command of each line of stdin as `loci` would, and write a line with what came of it."""
    answers = sys.stdout
    for line in sys.stdin:
        said, told, status = io.StringIO(), io.StringIO(), 0
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
            try:
                run_command(json.loads(line))
            except SystemExit as end:
                if isinstance(end.code, str):
                    told.write(end.code)
                status = end.code if isinstance(end.code, int) else int(end.code is not None)
        answers.write(
            json.dumps({"returncode": status, "stdout": said.getvalue(), "stderr": told.getvalue()})
        )
        answers.write("\n")
        answers.flush()


def run_command(words: list[str]) -> None:
    """Run one command; the next one opens the database anew."""
    try:
        main(["manage.py", *words])
    finally:
        connections.close_all()


if __name__ == "__main__":
    clock = os.environ.pop("TESTS_CLOCK", "")
    with time_machine.travel(clock) if clock else contextlib.nullcontext():
        answer_commands()
