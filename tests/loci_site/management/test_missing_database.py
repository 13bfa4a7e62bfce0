"""A database that the settings name and that is missing is created by `up` and `migrate` alone."""

from pathlib import Path

from tests.shell import shell


def test_a_command_names_the_missing_file_and_makes_none(tmp_path: Path) -> None:
    database = tmp_path / "unmounted" / "memory.db"
    commands = (
        ("remember", "The port is 8081.", "--group", "g"),
        ("stats",),
        ("backup",),
        ("audit", "verify"),
    )
    with shell(tmp_path / "home", LOCI_DB=str(database)) as command:
        for words in commands:
            done = command(*words)
            assert done.returncode == 1
            assert f"There is no database at {database}" in done.stderr
            assert "loci migrate" in done.stderr
            assert not database.exists()


def test_migrate_creates_it(tmp_path: Path) -> None:
    with shell(tmp_path / "home", LOCI_DB=str(tmp_path / "disk" / "memory.db")) as command:
        assert command("migrate", "-v0").returncode == 0
        done = command("remember", "The port is 8081.", "--group", "g")
    assert done.returncode == 0, done.stderr


def test_the_default_path_is_created_by_any_first_command_even_if_it_is_set(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with shell(home, LOCI_DB=str(home / "memory.db")) as command:
        done = command("remember", "The port is 8081.", "--group", "g")
    assert done.returncode == 0, done.stderr
    assert "Created a new database" in done.stderr
