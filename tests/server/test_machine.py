"""How many web processes fit a machine: never more than cores or memory have room for, unless somebody says so."""

from pathlib import Path

import pytest

from loci_site import machine
from loci_site.machine import memory_bytes, web_processes

GIB = 1024**3


@pytest.mark.parametrize(
    ("wanted", "cores", "memory", "count"),
    [
        (0, 2, 4 * GIB, 2),
        (0, 64, 256 * GIB, 2),
        (0, 1, 16 * GIB, 1),
        (0, 8, 4 * GIB - 1, 1),
        (0, 8, GIB, 1),
        (1, 8, 16 * GIB, 1),
        (5, 2, GIB, 5),
    ],
)
def test_two_run_where_there_is_room_and_as_many_as_were_asked_for(
    monkeypatch: pytest.MonkeyPatch, wanted: int, cores: int, memory: int, count: int
) -> None:
    monkeypatch.setattr(machine, "available_cores", lambda: cores)
    monkeypatch.setattr(machine, "memory_bytes", lambda: memory)
    assert web_processes(wanted) == count


def test_a_containers_limit_counts_where_it_is_less(tmp_path: Path) -> None:
    whole = memory_bytes(tmp_path / "none")
    assert whole > 256 * 1024**2
    limit = tmp_path / "memory.max"
    for said, meant in ((f"{GIB}\n", min(GIB, whole)), ("max\n", whole), (f"{2**60}\n", whole)):
        limit.write_text(said, encoding="ascii")
        assert memory_bytes(limit) == meant
