"""What evaluation works out beside scores: intervals, gains, fits, the curve of abstention, tables in a page."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from access.errors import InvalidInput
from bench.evaluate import cached_database as cached_database_module
from bench.evaluate import scratch_database
from bench.evaluate.abstention import Judgement, curve
from bench.evaluate.cached_database import cached_database, fingerprint
from bench.evaluate.command import Command
from bench.evaluate.fitting import FEATURES, FITTED, Fit, FittedSet, fold_of
from bench.evaluate.metrics import difference_interval, interval
from bench.evaluate.question_files import Query
from bench.evaluate.run import ModeReport
from bench.evaluate.tables import Measurements, as_markdown, as_text, win_share, write_between_marks
from memories.embedding import get_encoder
from memories.models import Memory
from memories.recall.weights import WEIGHTS
from tests.evaluate.test_run import run, write_set
from tests.fresh_homes import migrated
from tests.settings import REPOSITORY


@pytest.fixture(scope="module", autouse=True)
def migrated_once() -> Iterator[None]:
    """Scratch databases are copies of what the tests migrated; test_run.py migrates one of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scratch_database, "empty_database", migrated().read_bytes)
        yield


def test_an_interval_holds_the_mean_and_narrows_with_more_questions() -> None:
    low, high = interval([0.0, 1.0] * 10)
    assert low < 0.5 < high
    narrow = interval([0.0, 1.0] * 1000)
    assert narrow[1] - narrow[0] < (high - low) / 5
    # Of 2,000 even draws the standard error is 0.5 / √2000 = 0.0112; 95 % lie within 1.96 of it.
    assert narrow == pytest.approx((0.5 - 0.0219, 0.5 + 0.0219), abs=0.004)


def test_equal_values_have_no_spread_and_the_same_questions_the_same_interval() -> None:
    assert interval([0.25] * 7) == (0.25, 0.25)
    assert interval([]) == (0.0, 0.0)
    assert interval([0.1, 0.9, 0.4]) == interval([0.1, 0.9, 0.4])


def test_a_difference_is_taken_question_by_question() -> None:
    # Each is better by 0.1, however much they vary among themselves.
    low, high = difference_interval([0.1, 1.0, 0.5], [0.0, 0.9, 0.4])
    assert (low, high) == pytest.approx((0.1, 0.1))


def test_a_groups_questions_share_a_fold_and_a_single_groups_do_not() -> None:
    questions = [Query(f"q{number}", "?", "ledger", ("a",)) for number in range(50)]
    assert len({fold_of("set", q, is_single=False) for q in questions}) == 1
    assert {fold_of("set", q, is_single=True) for q in questions} == {0, 1, 2, 3, 4}


def test_the_curve_counts_what_each_limit_holds_back() -> None:
    judgements = [
        Judgement("answerable", 0.30, is_found=True),
        Judgement("answerable", 0.05, is_found=True),
        Judgement("answerable", -0.01, is_found=False),
        Judgement("answerable", 0.20, is_found=False),
        Judgement("another group's", -0.20, is_found=False),
        Judgement("another group's", 0.02, is_found=False),
    ]
    now, stricter = curve(judgements, (0.0, 0.1))
    assert (now.precision, now.recall, now.lost) == (
        1 / 2,
        1 / 2,
        0.0,
    )  # the one held back was not found anyway
    assert (stricter.precision, stricter.recall, stricter.lost) == (2 / 4, 1.0, 1 / 4)


def test_where_it_never_abstained_there_is_no_precision() -> None:
    judgements = [Judgement("answerable", 0.3, is_found=True)]
    [point] = curve(judgements, (0.0,))
    assert (point.precision, point.recall, point.lost) == (None, 0.0, 0.0)
    findings = Measurements(judgements={"set": judgements})
    assert ["as it is", "–", "0.0", "0.0"] in findings.tables()["abstention"]
    told = json.loads(json.dumps(findings.as_dict(with_intervals=False)))["abstention"]
    assert {row["offset"]: row["precision"] for row in told}[0.0] is None


def test_a_page_tells_what_is_held_back_what_it_costs_and_how_well_kinds_are_told_apart() -> None:
    judgements = [
        Judgement("answerable", 0.3, is_found=True),
        Judgement("answerable", -0.1, is_found=True),
        Judgement("another group's", -0.2, is_found=False),
        Judgement("another group's", -0.1, is_found=False),
    ]
    tables = Measurements(judgements={"garden": judgements, "ledger": judgements[:1]}).tables()
    assert tables["unrelated"] == [
        ["questions", "garden", "ledger"],
        ["answerable", "50.0 of 2", "0.0 of 1"],
        ["another group's", "100.0 of 2", "–"],
        ["R@5 lost", "50.0", "0.0"],
    ]
    # Of four pairs the answerable one is above in three, and even in one.
    assert tables["separation"] == [["questions", "garden", "ledger"], ["another group's", "87.5", "–"]]


def test_the_share_above_counts_pairs() -> None:
    assert win_share([1.0], [0.0, 2.0]) == 0.5
    assert win_share([1.0, 1.0], [1.0]) == 0.5
    assert win_share([0.0], [1.0]) == 0.0


ROWS = [["set", "R@10"], ["garden", "97.1"]]


def test_a_table_as_markdown_and_as_text() -> None:
    assert as_markdown(ROWS) == "| set | R@10 |\n|---|---|\n| garden | 97.1 |"
    assert as_text(ROWS) == "set     R@10\ngarden  97.1"


def test_a_table_goes_between_its_marks_and_nowhere_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- table: modes -->\nold\n<!-- end of modes -->\nafter\n", encoding="utf-8")
    assert write_between_marks(page, {"modes": ROWS, "folds": ROWS}) == ["modes"]
    once = page.read_text(encoding="utf-8")
    assert once == (f"before\n<!-- table: modes -->\n{as_markdown(ROWS)}\n<!-- end of modes -->\nafter\n")
    write_between_marks(page, {"modes": ROWS})
    assert page.read_text(encoding="utf-8") == once


@pytest.mark.parametrize("text", ["no marks", "<!-- table: modes -->\n"])
def test_a_page_without_its_marks_is_told_and_left_as_it_is(tmp_path: Path, text: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match="has no marks"):
        write_between_marks(page, {"modes": ROWS})
    assert page.read_text(encoding="utf-8") == text


def report(mode: str, *found: float) -> ModeReport:
    each = tuple({"R@5": share, "R@10": share, "MRR": share, "nDCG@10": share} for share in found)
    mean = sum(found) / len(found)
    return ModeReport(mode, dict.fromkeys(each[0], mean), {}, (1.0,) * len(found), {}, each)


def test_hybrid_is_held_against_the_better_of_its_arms() -> None:
    modes = [report("keyword", 0.5, 0.5), report("vector", 0.25, 0.25), report("hybrid", 0.75, 0.75)]
    findings = Measurements(
        modes={"garden": modes}, fit=Fit(WEIGHTS, (FittedSet("garden", *(mode.scores for mode in modes)),))
    )
    tables = findings.tables()
    assert tables["modes"][1] == ["garden (2)", *[" / ".join([s] * 3) for s in ("50.0", "25.0", "75.0")]]
    assert tables["intervals"][1][4] == "+25.0 (+25.0 to +25.0)"
    assert tables["fit"][1] == ["garden", *[" / ".join([s] * 3) for s in ("50.0", "25.0", "75.0")]]
    assert tables["weights"][1] == ["fact meaning", "1.50", "1.50"]
    assert "ablation" not in tables


def test_what_the_other_groups_take_away_is_told() -> None:
    scopes = {"garden": (report("hybrid", 0.75, 0.75), report("hybrid", 0.5, 0.75))}
    assert Measurements(scopes=scopes).tables() == {
        "everywhere": [
            ["set", "within its group", "in all groups at once", "R@10 lost"],
            ["garden", "75.0 / 75.0 / 75.0", "62.5 / 62.5 / 62.5", "12.5"],
        ]
    }


@pytest.mark.model
@pytest.mark.django_db(transaction=True)
def test_in_all_groups_at_once_another_groups_texts_come_in_between(tmp_path: Path) -> None:
    get_encoder(timeout_s=60)
    text = "The deploy port of the billing service is 8081."
    corpus = [{"id": f"{group}-1", "text": text, "group": group} for group in ("ledger", "garden")]
    question = {"id": "q", "text": "Which deploy port has billing?", "group": "ledger"}
    asked = [question | {"relevant": ["ledger-1"]}]
    told = run(write_set(tmp_path / "set", corpus=corpus, queries=asked), "--everywhere")["everywhere"]["set"]
    assert (told["within"]["R@1"], told["within"]["MRR"]) == (1.0, 1.0)
    assert (told["everywhere"]["R@1"], told["everywhere"]["MRR"]) == (
        0.0,
        0.5,
    )  # two alike: the newer one first


def test_a_database_is_kept_until_something_about_its_set_changes(tmp_path: Path, db: None) -> None:
    folder = write_set(tmp_path / "set")
    corpus = folder / "corpus.jsonl"
    mark = fingerprint(corpus, "model")
    assert fingerprint(corpus, "model") == mark
    assert fingerprint(corpus, "other model") != mark
    corpus.write_text("{}", encoding="utf-8")
    assert fingerprint(corpus, "model") != mark


def test_a_database_is_filled_anew_when_a_rule_has_changed(
    tmp_path: Path, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = tmp_path / "rules.toml"
    corpus = write_set(tmp_path / "set") / "corpus.jsonl"
    monkeypatch.setattr(cached_database_module, "CODE", (tmp_path,))
    marks = [fingerprint(corpus, "model") for text in ("hold", "let in") if rules.write_text(text)]
    assert len(set(marks)) == 2


@pytest.mark.django_db(transaction=True)
def test_a_kept_database_is_filled_once_and_the_store_stays_in_place(tmp_path: Path) -> None:
    filled: list[str] = []
    before = connection.settings_dict["NAME"]
    for mark in ("one", "one", "two"):
        with cached_database(tmp_path / "kept", "garden", mark, lambda: filled.append("x")) as path:
            assert connection.settings_dict["NAME"] == str(path)
            assert Memory.objects.count() == 0
    assert len(filled) == 2
    assert [path.name for path in (tmp_path / "kept").glob("*.db")] == ["garden-two.db"]
    assert connection.settings_dict["NAME"] == before


USE_ONE = """
import sys, django
django.setup()
from pathlib import Path
from bench.evaluate.cached_database import cached_database
from memories.models import Memory
with cached_database(Path(sys.argv[1]), "garden", sys.argv[2], lambda: print("filled")):
    print("rows", Memory.objects.count(), flush=True)
    sys.stdin.read()
"""


@pytest.mark.django_db(transaction=True)
def test_two_runs_at_once_share_a_database_and_a_third_deletes_none_in_use(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    environment = {**os.environ, "LOCI_HOME": str(tmp_path), "DJANGO_SETTINGS_MODULE": "loci_site.settings"}

    def start(mark: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", USE_ONE, str(kept), mark],
            cwd=REPOSITORY,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def names() -> set[str]:
        return {path.name for path in kept.glob("*.db")}

    with start("one") as first, start("one") as second:
        firsts = [process.stdout.readline() for process in (first, second) if process.stdout]
        assert sorted(firsts) == ["filled\n", "rows 0\n"]  # one fills, the other waits for it
        with start("two") as third:
            assert third.communicate()[0] == "filled\nrows 0\n"
        assert names() == {"garden-one.db", "garden-two.db"}
        for process in (first, second):
            process.communicate()
            assert process.returncode == 0
    with cached_database(kept, "garden", "three", lambda: None):
        assert names() == {"garden-three.db"}


@pytest.mark.django_db(transaction=True)
def test_a_fill_that_fails_keeps_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        raise InvalidInput("no")

    with pytest.raises(InvalidInput), cached_database(tmp_path / "kept", "garden", "one", fail):
        pass
    assert [*(tmp_path / "kept").glob("*.db")] == []


@pytest.mark.model
@pytest.mark.django_db(transaction=True)
def test_one_command_measures_all_and_writes_it_into_a_page(tmp_path: Path) -> None:
    get_encoder(timeout_s=60)
    page = tmp_path / "page.md"
    names = (
        "modes",
        "received",
        "intervals",
        "everywhere",
        "ablation",
        "weights",
        "fit",
        "abstention",
        "unrelated",
    )
    page.write_text(
        "".join(f"<!-- table: {name} -->\n<!-- end of {name} -->\n" for name in names), encoding="utf-8"
    )
    told: Any = run(write_set(tmp_path / "set"), "--write-docs", str(page))
    assert set(told) >= {"hybrid", "keyword", "vector", "everywhere", "ablation", "fit", "abstention"}
    assert set(told["ablation"]["set"]) == set(FEATURES)
    assert told["hybrid"]["intervals"]["R@1"] == [1.0, 1.0]
    # No question names a date: without that feature everything is as it was.
    assert told["ablation"]["set"]["date"]["R@10"] == 0.0
    assert set(told["fit"]["weights"]) == set(FITTED)
    text = page.read_text(encoding="utf-8")
    assert "| set (3) |" in text
    assert text.count("|---|") >= len(names)


@pytest.mark.model
@pytest.mark.django_db(transaction=True)
def test_what_is_asked_for_alone_is_measured_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    get_encoder(timeout_s=60)
    folder = write_set(tmp_path / "set")
    told = run(folder, "--abstain")
    assert set(told) == {"abstention", "questions", "set"}
    call_command(Command(), str(folder), "--ablate")
    shown = capsys.readouterr().out
    assert shown.startswith("set\n\nablation\nfeature")
    assert "fact meaning" in shown
