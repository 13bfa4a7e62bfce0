"""A section of a note that is a list of facts becomes a memory for each; every other list stays one text."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from access.tokens import operator
from memories.models import Memory
from sources.importing import choose_importer
from sources.importing.importer import LineRules

pytestmark = [pytest.mark.django_db, pytest.mark.model]


def imported(folder: Path, text: str) -> list[str]:
    """The texts of all memories after an import of a note, in the order in which they were stored."""
    file = folder / "notes.md"
    file.write_text(text)
    choose_importer(file).run(operator(), file, LineRules("notes", group="ledger"))
    return [*Memory.objects.order_by("key").values_list("content", flat=True)]


def test_each_item_is_a_memory_with_its_heading(tmp_path: Path) -> None:
    text = "# Ports\n\n- The build cluster is called marmot.\n* Deploys need two reviews\n  by the owners.\n\n+ 部署端口是4817。\n"
    assert imported(tmp_path, text) == [
        "notes › Ports: The build cluster is called marmot.",
        "notes › Ports\nDeploys need two reviews\n  by the owners.",
        "notes › Ports: 部署端口是4817。",
    ]


def test_what_is_indented_below_an_item_stays_with_it(tmp_path: Path) -> None:
    text = "- The gate opens at seven:\n  - on Monday\n  - on Friday\n\n      make gate\n- The wall is very old.\n"
    assert imported(tmp_path, text) == [
        "notes\nThe gate opens at seven:\n  - on Monday\n  - on Friday\n\n      make gate",
        "notes: The wall is very old.",
    ]


def test_an_import_again_adds_only_new_items_wherever_they_stand(tmp_path: Path) -> None:
    first = imported(tmp_path, "- The gate opens at seven.\n- The wall is very old.\n")
    again = imported(
        tmp_path, "- The moat is dry now.\n- The wall is very old.\n- The gate opens at seven.\n"
    )
    assert again == [*first, "notes: The moat is dry now."]


def test_a_list_longer_than_a_memory_is_cut_between_its_items(settings: Any, tmp_path: Path) -> None:
    storage = replace(settings.LOCI.storage, max_content_chars=200)
    settings.LOCI = replace(settings.LOCI, storage=storage)
    items = [f"The valve number {number}\n  is of type {number * 7}." for number in range(20)]
    contents = imported(tmp_path, "".join(f"- {item}\n" for item in items))
    assert contents == [f"notes\n{item}" for item in items]


@pytest.mark.parametrize(
    "text",
    [
        "1. Stop the server first.\n2. Copy the file away.\n3. Start the server again.",
        "- The gate opens at seven.\n1. Stop the server first.",
        "- [ ] Write the release notes\n- [x] Bump the version number",
        "- milk\n- brown bread\n- eggs",
        "Before a release:\n\n- Stop the server first.\n- Copy the file away.",
        "- Stop the server first.\n- Copy the file away.\n\nThen start it again.",
        "- The gate opens at seven.",
        "```\n- The gate opens at seven.\n- The wall is very old.\n```",
        "- The gate opens at seven.\n```\nmake gate\n```\n- The wall is very old.",
        "- The gate opens | at seven.\n| a | b |",
    ],
)
def test_steps_tasks_words_code_and_prose_stay_one_memory(tmp_path: Path, text: str) -> None:
    [content] = imported(tmp_path, text)
    assert content.removeprefix("notes").lstrip(":\n ") == text
