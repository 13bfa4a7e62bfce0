"""An export carries everything into another database file, and a second import changes nothing."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from access.audit.links import link_heads
from access.models import Group
from access.tokens import operator
from sources.exporting.instance_name import instance_id
from tests.sources.dump import dump
from tests.sources.other_store import OtherStore
from tests.sources.rich import fill

pytestmark = pytest.mark.django_db

TABLES = [
    "group", "thread", "memory", "piece", "link", "relation", "evidence", "alias", "checkpoint", "tombstone",
]  # fmt: skip


def plain(value: Any) -> Any:
    """A dump after a round trip through JSON."""
    return json.loads(json.dumps(value, default=str, sort_keys=True))


def without_log(dumped: dict[str, Any]) -> dict[str, Any]:
    return {name: dumped[name] for name in TABLES}


@pytest.fixture
def rich(alice: User, ledger: Group, garden: Group) -> None:
    fill(alice, ledger, garden)


@pytest.mark.usefixtures("rich")
@pytest.mark.parametrize(
    "options",
    [
        pytest.param([], id="embedded anew", marks=pytest.mark.model),
        pytest.param(["--vectors"], id="with vectors"),
    ],
)
def test_every_row_comes_back(other: OtherStore, tmp_path: Path, options: list[str]) -> None:
    file = tmp_path / "all.jsonl"
    link_heads(operator())  # as the export does
    here = plain(dump())
    call_command("export", str(file), *options, stdout=StringIO())

    answer = other.manage("import", str(file), "--json")
    assert (answer.code, answer.json["faults"], answer.json["loose"]) == (0, [], 0), answer.err
    assert sum(answer.json["missing_keys"].values()) == len(here["tombstone"])

    there = other.dump()
    if not options:
        # Vectors made in another batch differ in their last bits.
        assert all(piece.pop("embedding") for piece in [*here["piece"], *there["piece"]])
        for store in (here, there):
            store["piece"].sort(key=lambda piece: (piece["to_memory"], piece["ordinal"]))
    for table in TABLES:
        assert here[table], f"the store has no {table} to compare"
        assert there[table] == here[table]
    assert there["faults"] == []
    _logs_agree(here, there)


def _logs_agree(here: dict[str, Any], there: dict[str, Any]) -> None:
    """The chain is stored beside the other store's own, row by row, and verifies."""
    origin = instance_id()
    foreign = [{**row, "origin": ""} for row in there["log"] if row["origin"] == origin]
    key = {"key": lambda row: (row["chain"], row["seq"])}
    assert sorted(foreign, **key) == sorted(here["log"], **key)
    names = {row["chain"] for row in here["log"]}
    assert there["chains"] == {" instance": True} | {f"{origin} {name}": True for name in names}
    assert {row["to_entry"] for row in here["said"]} <= {row["to_entry"] for row in there["said"]}
    own = [row for row in there["log"] if not row["origin"]]
    assert [(row["operation"], row["subject"]) for row in own] == [("import", f"origin:{origin}")]


@pytest.mark.usefixtures("rich")
def test_a_second_import_changes_nothing(other: OtherStore, tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    call_command("export", str(file), stdout=StringIO())
    other.manage("import", str(file))
    before = other.dump()
    answer = other.manage("import", str(file), "--json")
    assert (answer.code, answer.json["added"], answer.json["faults"]) == (0, {}, [])
    assert other.dump() == before


@pytest.mark.usefixtures("rich")
def test_an_export_comes_into_the_store_it_left_without_a_trace(tmp_path: Path) -> None:
    file, out = tmp_path / "all.jsonl", StringIO()
    call_command("export", str(file), stdout=StringIO())
    before = plain(dump())
    call_command("import", str(file), "--json", stdout=out)
    answer = json.loads(out.getvalue())
    assert (answer["added"], answer["faults"]) == ({}, [])
    assert plain(dump()) == before


@pytest.mark.usefixtures("rich")
def test_a_third_store_gets_both_chains(other: OtherStore, tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    call_command("export", str(first), "--vectors", stdout=StringIO())
    other.manage("import", str(first))
    assert other.manage("export", str(second), "--vectors").code == 0
    third = OtherStore.made(tmp_path / "third")
    assert third.manage("import", str(second)).code == 0
    chains = third.dump()["chains"]
    assert len({name.split()[0] for name in chains if not name.startswith(" ")}) == 2
    assert [name for name in chains if name.startswith(" ")] == [" instance"]
    assert all(chains.values())
    assert without_log(third.dump()) == without_log(plain(dump()))


@pytest.mark.usefixtures("rich")
def test_a_trial_import_writes_nothing(other: OtherStore, tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    call_command("export", str(file), stdout=StringIO())
    before = other.dump()
    answer = other.manage("import", str(file), "--dry-run", "--json")
    assert answer.code == 0, answer.err
    assert answer.json["added"]["memory"] == len(dump()["memory"])
    assert other.dump() == before
