"""`loci demo`: the sample team has a folder of its own, and only a folder that it made is removed."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django import Settings

from access.models import Group
from loci_site.management.commands.demo import MARK, demo_home, environment, prepare_home
from loci_site.management.demo.team import found_team, live, tell
from memories.models import Memory, RecallLog


@pytest.fixture
def home(settings: Settings, tmp_path: Path) -> Path:
    settings.LOCI = replace(settings.LOCI, home=tmp_path / "loci")
    return tmp_path / "loci"


def test_a_folder_that_is_no_sample_team_is_neither_filled_nor_removed(home: Path) -> None:
    other = demo_home(home)
    other.mkdir()
    (other / "memory.db").write_bytes(b"somebody's")
    with pytest.raises(CommandError, match="exists and is not a sample team"):
        call_command("demo", "--fill-only")
    with pytest.raises(CommandError, match="There is no sample team in"):
        call_command("demo", "--remove")
    assert (other / "memory.db").read_bytes() == b"somebody's"


def test_remove_deletes_the_team_and_leaves_the_real_home(home: Path) -> None:
    home.mkdir()
    (home / "memory.db").write_bytes(b"mine")
    assert prepare_home(demo_home(home))
    out = StringIO()
    call_command("demo", "--remove", stdout=out)
    assert out.getvalue() == f"Removed {home}-demo.\n"
    assert not demo_home(home).exists()
    assert (home / "memory.db").read_bytes() == b"mine"


def test_a_team_that_is_there_is_not_made_again(home: Path) -> None:
    folder = demo_home(home)
    assert prepare_home(folder)
    (folder / "memory.db").write_bytes(b"")
    assert not prepare_home(folder)
    assert (folder / MARK).is_file()


def test_settings_of_the_real_home_do_not_reach_the_team(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCI_DB", "/srv/real.db")
    env = environment(demo_home(home))
    assert {name: value for name, value in env.items() if name.startswith("LOCI_")} == {
        "LOCI_HOME": f"{home}-demo"
    }
    (home / "models" / "all-MiniLM-L6-v2").mkdir(parents=True)
    assert environment(demo_home(home))["LOCI_MODEL_DIR"] == str(home / "models" / "all-MiniLM-L6-v2")


@pytest.mark.django_db
def test_the_team_has_people_groups_a_history_and_something_to_review(home: Path) -> None:
    home.mkdir()
    team = found_team("a long walk by the sea")
    live(team, tell(team, began=timezone.now(), decisions=2, traits=1))
    assert set(team.people) == {"alice", "bob", "mia", "vera", "charlie"}
    assert {"ledger", "atlas", "support"} <= set(Group.objects.values_list("slug", flat=True))
    assert Memory.objects.filter(state="retracted").count() == 1
    assert Memory.objects.filter(state="superseded").exists()
    assert Memory.objects.filter(trust="candidate").exists()
    assert RecallLog.objects.count() >= 4
