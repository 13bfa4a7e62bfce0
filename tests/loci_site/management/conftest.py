"""Runs commands in this process, and reads what they print."""

import io
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.core.management import CommandError, call_command

from tests.model import encoder
from tests.people import alice, bob, charlie, garden, ledger

__all__ = ["alice", "bob", "charlie", "encoder", "garden", "ledger"]


@dataclass(frozen=True)
class Ran:
    """What a command printed, and its exit status."""

    out: str
    error: str
    status: int


Run = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command; `stdin` is its standard input."""

    def of(name: str, *words: str, stdin: bytes = b"", columns: int = 80) -> Ran:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        out = io.StringIO()
        try:
            call_command(name, *words, stdout=out)
        except CommandError as error:
            return Ran(out.getvalue(), str(error), error.returncode)
        except SystemExit as end:
            return Ran(out.getvalue(), "", int(str(end.code)))
        return Ran(out.getvalue(), "", 0)

    return of
