"""Writes docs/reference/rights.md from the matrix: `python -m tests.access.rights_page`."""

from itertools import groupby
from pathlib import Path

from tests.access.matrix import PATH, Matrix, read_matrix

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "rights.md"
HEAD = """\
# Rights

<!-- Generated from tests/access/matrix.txt; the tests hold the code to it. -->

Every face of Loci, the rule it follows, and what comes of it for whom. `ok` means it is done; 401: nobody is known; 403:
one may know of the thing and not do this, and the answer says what is missing; 404: one may not know of it, and the answer
is the same as for what there is not.

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
    """Give the page."""
    matrix = read_matrix()
    return "\n".join([HEAD + _legend(), *_rules(matrix), *_faces(matrix)])


def _legend() -> str:
    """Give the callers and places as the table's own head explains them."""
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
        lines += [f"## {KINDS[kind]}", "", "| face | rule |", "|---|---|"]
        lines += [f"| `{face.name}` | {face.rule} |" for face in faces]
        lines.append("")
    return lines


if __name__ == "__main__":
    PAGE.write_text(rights_page(), encoding="utf-8")
