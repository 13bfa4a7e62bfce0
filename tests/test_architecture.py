"""The house keeps its rules, and the rules can fail."""

from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

import pytest

from tests import architecture
from tests.settings import REPOSITORY

RULES = [
    architecture.wrong_directions,
    architecture.module_cycles,
    architecture.package_cycles,
    architecture.doubled_class_names,
    architecture.reached_insides,
    architecture.foreign_sqlite,
    architecture.hidden_imports,
    architecture.long_functions,
    architecture.vague_names,
    architecture.own_file_names,
]
Rule = Callable[[Path], list[str]]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps_the_rule(rule: Rule) -> None:
    offenders = rule(REPOSITORY)
    assert not offenders, "\n".join([str(rule.__doc__), *offenders])


def test_functions_are_short() -> None:
    lengths = [length for length, _ in architecture.function_lengths(REPOSITORY)]
    assert median(lengths) <= 8
    assert quantiles(lengths, n=10)[-1] <= 30


def plant(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "text", "rule", "offender"),
    [
        (
            "access/a.py",
            "from memories.types import Type\n",
            architecture.wrong_directions,
            "access/a.py:1: access imports memories.types",
        ),
        (
            "sources/a.py",
            "import os\nimport maintenance\n",
            architecture.wrong_directions,
            "sources/a.py:2: sources imports maintenance",
        ),
        (
            "maintenance/a.py",
            "def run():\n    from sources import x\n",
            architecture.wrong_directions,
            "maintenance/a.py:2: maintenance imports sources",
        ),
        (
            "memories/a.py",
            "from loci_site.config import Config\n",
            architecture.wrong_directions,
            "memories/a.py:1: memories imports loci_site.config",
        ),
        (
            "memories/search/a.py",
            "import sqlite3\n",
            architecture.foreign_sqlite,
            "memories/search/a.py:1: imports sqlite3",
        ),
        (
            "tests/a.py",
            "from pysqlite3 import dbapi2\n",
            architecture.foreign_sqlite,
            "tests/a.py:1: imports pysqlite3",
        ),
        (
            "loci_site/a.py",
            "from django.db.backends.sqlite3 import base\n",
            architecture.foreign_sqlite,
            "loci_site/a.py:1: imports django.db.backends.sqlite3",
        ),
        (
            "relations/a.py",
            "class A:\n    def run(self):\n        import json\n",
            architecture.hidden_imports,
            "relations/a.py:3: import json",
        ),
        (
            "access/a.py",
            "def run():\n" + "    x = 1\n" * 60,
            architecture.long_functions,
            "access/a.py:1: run has 61 lines",
        ),
        (
            "maintenance/a.py",
            "from memories.store.write import Executor\n",
            architecture.reached_insides,
            "maintenance/a.py:1: imports memories.store.write",
        ),
        (
            "memories/a.py",
            "def found():\n    return 1\n_ONE = found()\n",
            architecture.own_file_names,
            "memories/a.py:1: only its own file uses found",
        ),
        ("memories/utils.py", "", architecture.vague_names, "memories/utils.py:1: utils says nothing"),
        ("memories/core/a.py", "", architecture.vague_names, "memories/core/a.py:1: core says nothing"),
    ],
)
def test_a_rule_names_its_offender(tmp_path: Path, path: str, text: str, rule: Rule, offender: str) -> None:
    plant(tmp_path, path, text)
    assert rule(tmp_path) == [offender]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("memories/a.py", "from access.errors import LociError\nfrom . import types\n"),
        ("loci_site/a.py", "import access, relations, memories, sources, maintenance\n"),
        ("storage/sqlite/a.py", "import sqlite3\n"),
        ("relations/a.py", "_MEMORY = 'memories.Memory'\n"),
        ("memories/a.py", "def _run():\n    import onnx  # noqa: PLC0415 - heavy\n"),
        ("access/a.py", 'def _run():\n    """' + "long\n" * 90 + '"""\n' + "    x = 1\n" * 59),
        ("access/migrations/0001_initial.py", "x = 1\n" * 401),
    ],
)
def test_what_keeps_the_rules_is_not_named(tmp_path: Path, path: str, text: str) -> None:
    plant(tmp_path, path, text)
    assert [offender for rule in RULES for offender in rule(tmp_path)] == []


@pytest.mark.parametrize(
    ("files", "rule", "offender"),
    [
        (
            {
                "access/a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from access import b\n",
                "access/b.py": "def run():\n    from .a import x  # noqa: PLC0415 - late\n",
                "access/__init__.py": "",
            },
            architecture.module_cycles,
            "access.a imports access.b imports access.a",
        ),
        (
            {
                "access/one/a.py": "from access.two.b import x\n",
                "access/two/b.py": "x = 1\n",
                "access/two/c.py": "import access.one.a\n",
            },
            architecture.package_cycles,
            "access.one imports access.two imports access.one",
        ),
        (
            {"access/a.py": "class Row: ...\n", "memories/b.py": "class Row: ...\n"},
            architecture.doubled_class_names,
            "Row: access/a.py:1, memories/b.py:1",
        ),
    ],
)
def test_a_rule_of_the_whole_names_its_offender(
    tmp_path: Path, files: dict[str, str], rule: Rule, offender: str
) -> None:
    for path, text in files.items():
        plant(tmp_path, path, text)
    found = rule(tmp_path)
    assert len(found) == 1
    # A cycle may be told from any of its modules on.
    assert sorted(found[0].split(" imports ")[1:]) == sorted(offender.split(" imports ")[1:])
    assert set(found[0].split(" imports ")) == set(offender.split(" imports "))
