"""The reference pages say what the code says, and each command shows examples in its help."""

from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from bench.reference.errors import PACKAGES
from bench.reference.pages import FOLDER, PAGES, stale_pages, write_pages

OURS = sorted(name for name, app in get_commands().items() if str(app).split(".")[0] in PACKAGES)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_up_to_date(name: str) -> None:
    page = (FOLDER / name).read_text(encoding="utf-8")
    assert page == PAGES[name](), f"{name}: run 'python -m bench.reference'"


def test_a_page_that_is_not_is_named_and_written(tmp_path: Path) -> None:
    assert stale_pages(tmp_path) == list(PAGES)
    assert write_pages(tmp_path) == list(PAGES)
    (tmp_path / "errors.md").write_text("something else", encoding="utf-8")
    assert write_pages(tmp_path) == ["errors.md"]
    assert stale_pages(tmp_path) == []


@pytest.mark.parametrize("name", OURS)
def test_a_command_shows_examples_in_its_help(name: str) -> None:
    parser = load_command_class(str(get_commands()[name]), name).create_parser("manage.py", name)
    assert "examples:" in (parser.epilog or "")


def test_the_pages_name_what_there_is() -> None:
    errors = (FOLDER / "errors.md").read_text(encoding="utf-8")
    for code in ("group_not_found", "refused", "internal", "wrong_settings"):
        assert f"| `{code}` |" in errors
    rest = (FOLDER / "rest.md").read_text(encoding="utf-8")
    assert "### POST /api/memories/{memory_id}/{verb}" in rest
    settings = (FOLDER / "settings.md").read_text(encoding="utf-8")
    assert "| `max_body_bytes` |" in settings
    commands = (FOLDER / "commands.md").read_text(encoding="utf-8")
    assert "## remember" in commands
