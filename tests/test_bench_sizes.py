"""The measuring programs name the wrong option and the allowed values before they build anything."""

import argparse
import subprocess
import sys

import pytest

from bench.proof.duplicates.prove import PARAPHRASES
from bench.proof.proof import REPOSITORY
from bench.proof.suite.properties import FILES
from bench.sizes import size, sizes
from bench.speed import compare
from bench.speed.databases.groups import sizes_of_groups
from bench.speed.databases.report import as_tables


@pytest.mark.parametrize(
    ("word", "count"), [("500", 500), ("10k", 10_000), (" 100K", 100_000), ("1m", 10**6)]
)
def test_a_size_is_read(word: str, count: int) -> None:
    assert size(word) == count


@pytest.mark.parametrize("word", ["huge", "", "0", "-5", "1.5m", "10kk", "k", "1٠", "9999999999"])
def test_what_is_no_size_is_refused_with_what_is_allowed(word: str) -> None:
    with pytest.raises(
        argparse.ArgumentTypeError, match="allowed are whole numbers from 1, such as 500, 10k or 1m"
    ):
        size(word)
    with pytest.raises(argparse.ArgumentTypeError):
        sizes(f"10k,{word}")


@pytest.mark.parametrize(
    ("main", "arguments", "named"),
    [(compare.main, ["a=b", "--size", "huge"], "--size")],
)
def test_the_option_is_named(
    main: object, arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)  # type: ignore[operator]
    assert end.value.code == 2
    assert f"error: argument {named}: 'huge' is no number of memories" in capsys.readouterr().err


@pytest.mark.parametrize(("program", "option"), [("speed", "--sizes")])
def test_a_started_program_ends_without_a_traceback(program: str, option: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"bench.{program}", option, "huge"],
        cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert f"error: argument {option}: 'huge' is no number of memories" in done.stderr
    assert "Traceback" not in done.stderr


def test_files_that_proofs_read_exist() -> None:
    assert PARAPHRASES.is_file()
    assert all((REPOSITORY / file).is_file() for file in FILES.values())


@pytest.mark.parametrize("count", [2_000, 10_000, 100_000, 1_000_000])
def test_the_groups_of_a_store_are_all_of_it(count: int) -> None:
    groups = sizes_of_groups(count)
    assert sum(groups.values()) == count
    assert sum(name.startswith("small") for name in groups) > 0
    assert max(groups.values()) > 20_000 or count < 100_000


def test_the_tables_of_both_databases_name_every_measurement() -> None:
    one = {
        "recall": {"1k": [2.0, 2.0, 2.0]},
        "store": [4.0, 4.0, 4.0],
        "clients": {1: 5.4, 8: 40.0},
        "import": 77.0,
        "fill": {"rows/s": 1200},
    }
    near = {
        "rows": 50_000,
        "parameters": [24, 128, 100],
        "recall": 0.991,
        "ms": [1.0, 1.0],
        "exact_ms": [9.0, 9.0],
        "made_s": 30.0,
    }
    table = as_tables({10_000: {"SQLite": one, "PostgreSQL": {**one, "near": [near]}}})
    assert "| 10,000 | recall in a group of 1k, ms p50 / p95 | 2.0 / 2.0 | 2.0 / 2.0 |" in table
    assert "| 10,000 | stores/s, 8 clients | 40 | 40 |" in table
    assert "| 50,000 | 24, 128 | 100 | 0.991 | 1.0 / 1.0 | 9.0 / 9.0 | 30 |" in table
