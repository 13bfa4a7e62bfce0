"""A dry run of an undo changes nothing and says what the undo would do, in every command that has both options."""

import argparse
import json
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class

from access.models import Group
from access.tokens import operator
from bench.reference.errors import PACKAGES
from tests.memories.builders import kept
from tests.memories.tables import all_rows
from tests.model import encoder
from tests.people import garden, ledger

__all__ = ["encoder", "garden", "ledger"]
pytestmark = [pytest.mark.django_db, pytest.mark.model]


def said(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def imported(folder: Path) -> list[str]:
    file = folder / "notes.jsonl"
    file.write_text(
        "".join(json.dumps({"id": str(n), "text": f"Rose number {n} is red."}) + "\n" for n in range(3))
    )
    done = json.loads(said("import", str(file), "--group", "ledger", "--json"))
    return ["--undo", done["run"]]


def moved(folder: Path) -> list[str]:
    kept(operator(), "Rose number 1 is red.", group="ledger", scope="group")
    done = json.loads(said("group", "move-memories", "ledger", "--to", "garden", "--json"))
    return ["ledger", "--undo", done["run"]]


def narrowed(folder: Path) -> list[str]:
    kept(operator(), "Rose number 1 is red.", group="ledger", scope="global")
    said("group", "narrow", "ledger")
    return ["ledger", "--undo"]


UNDOS: dict[str, Callable[[Path], list[str]]] = {
    "import": imported,
    "group move-memories": moved,
    "group narrow": narrowed,
}


def with_both(path: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """The command and its verbs that have both --undo and --dry-run."""
    options: set[str] = set()
    for action in parser._actions:
        options.update(action.option_strings)
        choices: Any = action.choices if isinstance(action, argparse._SubParsersAction) else {}
        for verb, inner in choices.items():
            yield from with_both(f"{path} {verb}", inner)
    if {"--undo", "--dry-run"} <= options:
        yield path


def test_each_command_with_both_options_is_tried_here() -> None:
    ours = [name for name, app in get_commands().items() if str(app).split(".")[0] in PACKAGES]
    parsers = {n: load_command_class(str(get_commands()[n]), n).create_parser("manage.py", n) for n in ours}
    assert {found for name in ours for found in with_both(name, parsers[name])} == {*UNDOS, "connect"}
    with pytest.raises(CommandError, match="not for --undo"):
        said("connect", "--undo", "01a2b3c4", "--dry-run")


@pytest.mark.parametrize("command", UNDOS)
def test_a_dry_run_of_an_undo_changes_nothing(
    tmp_path: Path, ledger: Group, garden: Group, command: str
) -> None:
    words = [*command.split(), *UNDOS[command](tmp_path), "--json"]
    before = all_rows()
    would = json.loads(said(*words, "--dry-run"))
    assert all_rows() == before
    done = json.loads(said(*words))
    assert (would.pop("dry_run"), done.pop("dry_run")) == (True, False)
    assert would == done
    assert all_rows() != before
