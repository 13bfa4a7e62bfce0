"""An export carries everything into another database file, and a second import changes nothing."""

import json
import shutil
from copy import deepcopy
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction

from access.audit.retention import link_heads
from access.tokens import operator
from sources.exporting import instance_id
from tests.people import the_group, the_owner
from tests.sources.dump import dump
from tests.sources.other_store import Answer, OtherStore
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


@dataclass(frozen=True)
class Exported:
    """What this store has, and its exports without vectors and with them."""

    here: dict[str, Any]
    plain: Path
    with_vectors: Path


@dataclass(frozen=True)
class CameIn:
    """Another store after it took in an export."""

    store: OtherStore
    answer: Answer
    rows: dict[str, Any]

    def copied(self, folder: Path) -> OtherStore:
        """A copy of the store, to be changed."""
        return OtherStore(shutil.copytree(self.store.home, folder, symlinks=True))


@pytest.fixture(scope="module")
def exported(shared_rows: None, encoder: object, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """A store with something of everything."""
    fill(the_owner(), the_group("ledger"), the_group("garden"))
    link_heads(operator())  # as the export does
    instance_id()  # both files name it
    folder = tmp_path_factory.mktemp("exports")
    files = Exported(plain(dump()), folder / "all.jsonl", folder / "vectors.jsonl")
    with transaction.atomic():
        call_command("export", str(files.with_vectors), "--vectors", stdout=StringIO())
        transaction.set_rollback(True)  # the row of the log about it: both files are of the same store
    call_command("export", str(files.plain), stdout=StringIO())
    return files


@pytest.fixture(scope="module")
def embedded_anew(exported: Exported, tmp_path_factory: pytest.TempPathFactory) -> CameIn:
    return came_in(exported.plain, tmp_path_factory.mktemp("anew"))


@pytest.fixture(scope="module")
def with_vectors(exported: Exported, tmp_path_factory: pytest.TempPathFactory) -> CameIn:
    return came_in(exported.with_vectors, tmp_path_factory.mktemp("vectors"))


def came_in(file: Path, folder: Path) -> CameIn:
    store = OtherStore.made(folder / "other")
    answer = store.manage("import", str(file), "--json")
    return CameIn(store, answer, store.dump())


@pytest.mark.parametrize("way", [pytest.param("embedded_anew", marks=pytest.mark.model), "with_vectors"])
def test_every_row_comes_back(exported: Exported, request: pytest.FixtureRequest, way: str) -> None:
    other: CameIn = request.getfixturevalue(way)
    here, there, answer = deepcopy(exported.here), deepcopy(other.rows), other.answer
    assert (answer.code, answer.json["faults"], answer.json["loose"]) == (0, [], 0), answer.err
    assert sum(answer.json["missing_keys"].values()) == len(here["tombstone"])
    if way == "embedded_anew":
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
    here = here | {"log": [{**row, "change": None} for row in here["log"]]}  # a number of this store
    key = {"key": lambda row: (row["chain"], row["seq"])}
    assert sorted(foreign, **key) == sorted(here["log"], **key)
    names = {row["chain"] for row in here["log"]}
    assert there["chains"] == {" instance": True} | {f"{origin} {name}": True for name in names}
    assert {row["to_entry"] for row in here["said"]} <= {row["to_entry"] for row in there["said"]}
    own = [row for row in there["log"] if not row["origin"]]
    assert [(row["operation"], row["subject"]) for row in own] == [("import", f"origin:{origin}")]


def test_a_second_import_changes_nothing(exported: Exported, embedded_anew: CameIn, tmp_path: Path) -> None:
    other = embedded_anew.copied(tmp_path / "other")
    answer = other.manage("import", str(exported.plain), "--json")
    assert (answer.code, answer.json["added"], answer.json["faults"]) == (0, {}, [])
    assert other.dump() == embedded_anew.rows


def test_an_export_comes_into_the_store_it_left_without_a_trace(exported: Exported) -> None:
    out = StringIO()
    before = plain(dump())
    call_command("import", str(exported.plain), "--json", stdout=out)
    answer = json.loads(out.getvalue())
    assert (answer["added"], answer["faults"]) == ({}, [])
    assert plain(dump()) == before


def test_a_third_store_gets_both_chains(exported: Exported, with_vectors: CameIn, tmp_path: Path) -> None:
    second = tmp_path / "second.jsonl"
    other = with_vectors.copied(tmp_path / "other")
    assert other.manage("export", str(second), "--vectors").code == 0
    third = OtherStore.made(tmp_path / "third")
    assert third.manage("import", str(second)).code == 0
    rows = third.dump()
    assert len({name.split()[0] for name in rows["chains"] if not name.startswith(" ")}) == 2
    assert [name for name in rows["chains"] if name.startswith(" ")] == [" instance"]
    assert all(rows["chains"].values())
    assert without_log(rows) == without_log(exported.here)


def test_a_trial_import_writes_nothing(exported: Exported, other: OtherStore) -> None:
    before = other.dump()
    answer = other.manage("import", str(exported.plain), "--dry-run", "--json")
    assert answer.code == 0, answer.err
    assert answer.json["added"]["memory"] == len(exported.here["memory"])
    assert other.dump() == before
