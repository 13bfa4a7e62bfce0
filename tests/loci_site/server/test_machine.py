"""How many web processes fit a machine: never more than cores or memory have room for, unless somebody says so."""

from pathlib import Path

import pytest

from loci_site.server import supervisor as machine
from loci_site.server.supervisor import count_web_processes
from storage.machine import available_cores, memory_bytes

GIB = 1024**3


@pytest.mark.parametrize(
    ("wanted", "cores", "memory", "count"),
    [
        (0, 2, 4 * GIB, 2),
        (0, 64, 256 * GIB, 2),
        (0, 1, 16 * GIB, 1),
        (0, 2, 4 * GIB - 200 * 1024**2, 2),  # what a machine of 4 GiB counts
        (0, 8, 3 * GIB, 1),
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
    assert count_web_processes(wanted) == count


def test_a_containers_limit_counts_where_it_is_less(tmp_path: Path) -> None:
    whole = memory_bytes([tmp_path / "none"])
    assert whole > 256 * 1024**2
    limit = tmp_path / "memory.max"
    for said, meant in ((f"{GIB}\n", min(GIB, whole)), ("max\n", whole), (f"{2**60}\n", whole)):
        limit.write_text(said, encoding="ascii")
        assert memory_bytes([tmp_path / "none", limit]) == meant


@pytest.mark.parametrize(
    ("said", "cores"),
    [(["150000 100000\n"], 2), (["50000 100000\n"], 1), (["max 100000\n"], 64), (["100000", "100000"], 1), (["-1", "100000"], 64)],
)  # fmt: skip
def test_a_containers_share_of_the_processor_counts_in_whole_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str], cores: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(64)), raising=False)
    files = [tmp_path / str(number) for number in range(len(said))]
    for file, text in zip(files, said, strict=True):
        file.write_text(text, encoding="ascii")
    assert available_cores([[tmp_path / "none"], files]) == cores
