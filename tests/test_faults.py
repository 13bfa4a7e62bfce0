"""Each fault that docs/dev/proof.md lists has the test that it names."""

import ast
import re
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@cache
def functions_in(file: str) -> frozenset[str]:
    """The names of a file's test functions."""
    tree = ast.parse((REPOSITORY / file).read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, functions))


def test_the_page_of_proofs_names_a_test_for_each_fault() -> None:
    page = (REPOSITORY / "docs" / "dev" / "proof.md").read_text(encoding="utf-8")
    table = page.partition("<!-- faults: held to by the tests -->\n")[2].partition("<!-- faults: end -->")[0]
    rows = table.splitlines()[2:]
    named = [NAMED.search(row) for row in rows]
    assert rows
    assert [row for row, test in zip(rows, named, strict=True) if test is None] == []
    assert [test[0] for test in named if test is not None and test[2] not in functions_in(test[1])] == []
