"""Writes docs/reference/rights.md from the matrix: `python -m tests.access.rights_page`."""

from itertools import groupby
from pathlib import Path

from tests.access.matrix import PATH, Matrix, read_matrix

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "rights.md"
HEAD = """\
# Rights

<!-- Generated from tests/access/matrix.txt; the tests hold the code to it. -->

Every interface of Loci, the rule that it follows, and the outcome for each caller. `ok`: the request succeeds. 401: the
caller is unknown. 403: the caller may see the object but not do this, and the response names the missing right. 404: the
caller may not see the object, and the response is the same as for an object that does not exist.

"""
KINDS = {
    "rest": "REST",
    "tool": "MCP tools",
    "resource": "MCP resources",
    "prompt": "MCP prompts",
    "page": "Pages in the browser",
    "command": "Commands",
    "job": "Background jobs",
}


def rights_page() -> str:
    """The text of the page."""
    matrix = read_matrix()
    return "\n".join([HEAD + _legend(), *_rules(matrix), *_faces(matrix)])


def _legend() -> str:
    """The callers and places as the table's own header explains them."""
    lines = [line.removeprefix("# ").strip() for line in PATH.read_text(encoding="utf-8").splitlines()]
    start = next(number for number, line in enumerate(lines) if line.startswith("Callers:"))
    end = next(number for number, line in enumerate(lines) if line == "[rules]")
    return "\n".join(line for line in lines[start:end] if line) + "\n"


def _rules(matrix: Matrix) -> list[str]:
    head = f"| rule | place | {' | '.join(matrix.callers)} |"
    rows = [
        f"| {rule} | {place} | {' | '.join(codes.values())} |"
        for (rule, place), codes in matrix.outcomes.items()
    ]
    return ["## Rules", "", head, "|---" * (len(matrix.callers) + 2) + "|", *rows, ""]


def _faces(matrix: Matrix) -> list[str]:
    lines = []
    for kind, faces in groupby(matrix.faces, key=lambda face: face.kind):
        lines += [f"## {KINDS[kind]}", "", "| interface | rule |", "|---|---|"]
        lines += [f"| `{face.name}` | {face.rule} |" for face in faces]
        lines.append("")
    return lines


if __name__ == "__main__":
    PAGE.write_text(rights_page(), encoding="utf-8")
