"""The measures of retrieval, worked out by hand."""

from math import log2

import pytest

from bench.evaluate.metrics import mean_scores, percentile, score_ranking


def test_a_perfect_ranking_scores_one_everywhere_it_can() -> None:
    scores = score_ranking(["a", "b", "x"], ["a", "b"])
    assert scores["R@1"] == 0.5
    assert scores["all@1"] == 0.0
    assert {scores[name] for name in ("any@1", "R@5", "any@5", "all@5", "R@20", "MRR", "nDCG@10")} == {1.0}


def test_places_decide() -> None:
    # Right ones at places 2, 6 and 11 of three.
    ranked = ["x1", "a", "x3", "x4", "x5", "b", "x7", "x8", "x9", "x10", "c"]
    scores = score_ranking(ranked, ["a", "b", "c"])
    assert [scores[f"R@{k}"] for k in (1, 5, 10, 20)] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert [scores[f"any@{k}"] for k in (1, 5, 10, 20)] == [0, 1, 1, 1]
    assert [scores[f"all@{k}"] for k in (1, 5, 10, 20)] == [0, 0, 0, 1]
    assert scores["MRR"] == 0.5
    ideal = 1 + 1 / log2(3) + 1 / 2
    assert scores["nDCG@10"] == pytest.approx((1 / log2(3) + 1 / log2(7)) / ideal)


def test_nothing_right_scores_nothing() -> None:
    assert set(score_ranking(["x"], ["a"]).values()) == {0.0}
    assert set(score_ranking([], ["a"]).values()) == {0.0}


def test_an_id_that_comes_twice_counts_once() -> None:
    assert score_ranking(["x", "x", "a"], ["a"])["MRR"] == 0.5


def test_the_first_right_one_counts_within_a_hundred() -> None:
    others = [f"x{place}" for place in range(1, 101)]
    assert score_ranking([*others[:99], "a"], ["a"])["MRR"] == 0.01
    assert score_ranking([*others, "a"], ["a"])["MRR"] == 0.0


def test_more_right_ones_than_ten_can_still_be_perfect() -> None:
    right = [str(number) for number in range(12)]
    assert score_ranking(right, right)["nDCG@10"] == pytest.approx(1.0)


def test_means_are_taken_measure_by_measure() -> None:
    assert mean_scores([{"R@1": 1.0, "MRR": 0.5}, {"R@1": 0.0, "MRR": 0.25}]) == {"R@1": 0.5, "MRR": 0.375}
    assert mean_scores([]) == {}


def test_percentiles_are_values_that_occurred() -> None:
    assert percentile([5.0, 1.0, 3.0, 2.0, 4.0], 0.5) == 3.0
    assert percentile([1.0, 2.0], 0.95) == 2.0
    assert percentile([], 0.5) == 0.0
