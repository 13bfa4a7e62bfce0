"""The measuring programs name the wrong option and the allowed values before they build anything."""

import argparse
import subprocess
import sys
from itertools import chain

import pytest

from bench.proof.proof import REPOSITORY
from bench.proof.suite import CHANGES, LISTS, PROPERTIES, REPORTED, WITHDRAWN
from bench.speed import compare
from bench.speed.stores import size, sizes


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
    assert f"error: argument {named}: 'huge' is not a number of memories" in capsys.readouterr().err


@pytest.mark.parametrize(("program", "option"), [("speed", "--sizes")])
def test_a_started_program_ends_without_a_traceback(program: str, option: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"bench.{program}", option, "huge"],
        cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert f"error: argument {option}: 'huge' is not a number of memories" in done.stderr
    assert "Traceback" not in done.stderr


def test_files_that_proofs_read_exist() -> None:
    files = [*LISTS.values(), *PROPERTIES.values(), WITHDRAWN, CHANGES, *chain(*REPORTED.values())]
    assert [file for file in files if not (REPOSITORY / file.partition("::")[0]).is_file()] == []
