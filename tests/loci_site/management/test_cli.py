"""The `loci` command on a machine where nothing has been prepared."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class
from django.db import ProgrammingError
from django.test import Client
from pytest_django import Settings

from bench.reference.errors import PACKAGES
from loci_site import __version__
from loci_site.management.cli import create_missing_database, explain_store_error
from loci_site.management.command_list import GROUPS, MOVED, REFUSED, Commands, read_help
from storage.home import DATABASE
from tests.fresh_homes import with_tables
from tests.settings import REPOSITORY

# Django's own, which are kept for their audit entries and for stores whose migrations were squashed since.
UNLISTED = ("changepassword", "createsuperuser", "migrate")


def loci(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, over a home of its own."""
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=REPOSITORY,
        env=os.environ | {"LOCI_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_version_is_locis_own(tmp_path: Path) -> None:
    assert loci(tmp_path, "--version").stdout == f"Loci {__version__}\n"


def test_a_command_that_serves_nobody_does_not_load_what_serves(tmp_path: Path) -> None:
    code = "import django, sys; django.setup(); print(sorted({'ninja', 'pydantic', 'mcp'} & {*sys.modules}))"
    environment = {"LOCI_HOME": str(tmp_path), "DJANGO_SETTINGS_MODULE": "loci_site.settings"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_a_first_command_makes_the_database(tmp_path: Path) -> None:
    done = loci(tmp_path, "remember", "The deploy port is 8081.", "--group", "ledger")
    assert done.returncode == 0, done.stderr
    assert "Created a new database" in done.stderr
    again = loci(tmp_path, "stats", "--group", "ledger", "--json")
    assert '"live": 1' in again.stdout
    assert "Created a new database" not in again.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--version",), "Loci"),
        (("recall", "which port?"), "Nothing is stored here yet"),
        (("stats",), "Nothing is stored here yet"),
        (("connect", "codex"), "Nothing is stored here yet"),
        (
            ("connect", "codex", "--url", "http://127.0.0.1:9", "--token", f"loci_{'x' * 32}"),
            "No Loci answers",
        ),
        (("connect", "--status"), "No client is connected"),
    ],
)
def test_a_command_that_only_reads_makes_nothing(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = loci(tmp_path / "home", *words)
    assert said in done.stdout + done.stderr
    assert not (tmp_path / "home").exists()


def test_an_older_database_is_named_in_one_sentence(tmp_path: Path) -> None:
    loci(tmp_path, "migrate", "memories", "zero")
    done = loci(tmp_path, "stats", "--group", "ledger")
    assert done.returncode == 1
    assert "Run 'loci migrate'" in done.stderr
    assert "Traceback" not in done.stderr


def test_on_postgresql_no_file_is_made(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    storage = replace(settings.LOCI.storage, database=tmp_path / DATABASE)
    url = "postgresql://loci@db.example.org/loci"
    settings.LOCI = replace(settings.LOCI, home=tmp_path, storage=storage, database_url=url)
    create_missing_database()
    assert capsys.readouterr().err == ""
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        (
            'permission denied to create extension "vector"\nHINT:  Must be superuser to create this extension.',
            "Run as the server's administrator, in this database and in template1",
        ),
        (
            'extension "vector" is not available\nDETAIL:  Could not open extension control file',
            "Install version 0.8 or newer there",
        ),
        (
            "Loci needs PostgreSQL 15 or newer with pgvector 0.8 or newer. Update the server.\nCONTEXT:  PL/pgSQL",
            "Loci needs PostgreSQL 15 or newer with pgvector 0.8 or newer. Update the server.",
        ),
    ],
)
def test_what_postgresql_lacks_is_said_in_a_sentence(text: str, advice: str) -> None:
    said = explain_store_error(ProgrammingError(text))
    assert advice in said
    assert "\n" not in said


def test_the_list_has_each_of_our_commands_once_and_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    ours = sorted(name for name, app in get_commands().items() if str(app).split(".")[0] in PACKAGES)
    ours = [name for name in ours if name not in UNLISTED]
    assert sorted(name for names in GROUPS.values() for name in names) == ours
    assert len(ours) <= 28, "for a new command another one goes, or it is a verb of one"
    for words in ([], ["help"], ["--help"]):
        Commands(["/opt/bin/loci", *words]).execute()
        shown = capsys.readouterr().out
        rows = [line[2:].split("  ")[0] for line in shown.splitlines() if line[:3].strip()[:1].islower()]
        assert sorted(name for name in rows if name in get_commands()) == ours
    assert "'loci COMMAND --help'" in shown
    assert "flush" not in shown
    Commands(["/opt/bin/loci", "help", "--commands"]).execute()
    assert capsys.readouterr().out.split() == ours


def test_the_help_in_the_list_is_the_commands_own() -> None:
    for name in (name for names in GROUPS.values() for name in names):
        assert read_help(name) == load_command_class(str(get_commands()[name]), name).help


def test_the_usage_names_the_program_that_was_called(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        Commands(["/opt/bin/loci", "export", "--help"]).execute()
    assert capsys.readouterr().out.startswith("usage: loci export ")


def test_a_store_is_not_flushed_from_the_command_line(tmp_path: Path) -> None:
    home = with_tables(tmp_path / "home")
    loci(home, "remember", "The deploy port is 8081.", "--group", "ledger")
    done = loci(home, "flush", "--noinput")
    assert done.returncode == 1
    assert "including the audit log" in done.stderr
    assert "memory purge ID" in done.stderr
    assert "Traceback" not in done.stderr
    assert '"live": 1' in loci(home, "stats", "--group", "ledger", "--json").stdout


@pytest.mark.parametrize("name", MOVED)
def test_a_former_name_says_the_new_one_in_a_line(name: str) -> None:
    assert name not in get_commands()
    with pytest.raises(SystemExit) as end:
        Commands(["loci", name, "--some", "words"]).execute()
    said = str(end.value)
    assert "\n" not in said
    command, *verb = MOVED[name].split()
    if command in get_commands():
        assert f" {MOVED[name]}'" in said
        known = load_command_class(str(get_commands()[command]), command)
        assert not verb or verb[0] in getattr(known, "verbs", {}) or verb[0] == "CLIENT"
    else:
        assert command.startswith("--print") or said == MOVED[name]


@pytest.mark.parametrize("name", REFUSED)
def test_what_goes_past_the_write_path_is_refused_with_what_to_use(name: str) -> None:
    assert name in get_commands()
    with pytest.raises(SystemExit, match=rf"^Loci does not run '{name}'\. (It|Its output) would "):
        Commands(["loci", name]).execute()


def test_the_root_leads_to_the_browser_pages(client: Client) -> None:
    assert client.get("/").headers["Location"] == "/login/"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("import --nosuch x", ["loci import: error: unrecognized arguments: --nosuch"]),
        ("remember x --type fact", ["loci remember: error: argument --type: invalid choice: 'fact'", "semantic: a fact"]),
        ("token create", ["loci token create: error: the following arguments are required: name"]),
        ("up --nosuch", ["loci up: error: unrecognized arguments: --nosuch"]),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_answered_first_and_in_few_lines(
    words: str, said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        Commands(["/opt/bin/loci", *words.split()]).execute()
    lines = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert lines[0].startswith(said[0])
    assert all(any(part in line for line in lines) for part in said)
    assert len(lines) <= 3
    assert lines[-1].endswith("--help' shows the options.")


@pytest.mark.parametrize("name", ["up", "import", "token", "migrate"])
def test_djangos_options_stand_last_and_work(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        Commands(["/opt/bin/loci", name, "--help"]).execute()
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith(f"usage: loci {name} [options]")
    assert [line for line in lines if "--traceback" in line] == [lines[-1]]
    parser = load_command_class(str(get_commands()[name]), name).create_parser("loci", name)
    assert parser.parse_known_args(["--no-color", *(["list"] if name == "token" else [])])[0].no_color is True
