"""The comparison with other memory servers, small: Loci alone, one client."""

import json
from pathlib import Path

import pytest

from bench.speed import rivals
from tests.loci_site.server.conftest import copied_homes


def test_a_round_has_every_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copied_homes(monkeypatch)
    page, values = tmp_path / "page.md", tmp_path / "values.json"
    page.write_text(f"Before.\n{rivals.BEGIN}\nOld.\n{rivals.END}\nAfter.\n", encoding="utf-8")
    size = ["--sizes", "50", "--rounds", "1", "--calls", "3"]
    rivals.main([*size, "--mms", "none", "--clients", "raw", "--report", str(page), "--json", str(values)])
    assert "mcp-memory-service is left out" in capsys.readouterr().out
    [found] = json.loads(values.read_text(encoding="utf-8"))
    rows = {row: by_system["Loci"] for row, by_system in found["values"].items()}
    assert all(len(each) == 1 for each in rows.values())
    zero = {row for row, [value] in rows.items() if not value}
    assert zero == {"… refused of 50"}
    assert 5 < rows["MCP, raw HTTP: results of an answer"][0] <= 10
    text = page.read_text(encoding="utf-8")
    assert text.startswith("Before.")
    assert text.endswith("After.\n")
    assert "Old." not in text
    assert all(f"| {row} |" in text for row in rows)
