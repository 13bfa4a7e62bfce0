"""Fusion of both searches' scores; expected values worked out by hand."""

import pytest

from memories.recall.scoring import Candidate, fuse

BEST_WORDS = Candidate(1, keyword=10.0, vector=0.3, keyword_rank=1, words=20)
BEST_MEANING = Candidate(2, keyword=5.0, vector=0.6, keyword_rank=2, vector_rank=1, words=20)
WORDS_ONLY = Candidate(3, keyword=2.0, vector=0.0, keyword_rank=3, words=20)
CANDIDATES = [BEST_WORDS, BEST_MEANING, WORDS_ONLY]


def test_one_arm_alone_gives_what_that_arm_found_and_nothing_else() -> None:
    assert fuse(CANDIDATES, mode="keyword") == {1: 10.0, 2: 5.0, 3: 2.0}
    assert fuse(CANDIDATES, mode="vector") == {2: 0.6}


def test_rrf_adds_the_reciprocal_ranks() -> None:
    fused = fuse(CANDIDATES, mode="rrf")
    assert fused == pytest.approx({1: 1 / 61, 2: 1 / 62 + 1 / 61, 3: 1 / 63})


def test_weighted_spreads_each_arm_between_its_least_and_greatest_score() -> None:
    # Words: 10, 5, 2 become 1, 3/8, 0. Meaning: 0.3, 0.6, 0 become 1/2, 1, 0.
    fused = fuse(CANDIDATES, mode="weighted")
    assert fused == pytest.approx({1: 0.7 * 0.5 + 0.3, 2: 0.7 + 0.3 * 0.375, 3: 0.0})


def test_weighted_takes_equal_scores_as_equally_good() -> None:
    same = [Candidate(1, 2.0, 0.5), Candidate(2, 2.0, 0.5)]
    assert fuse(same, mode="weighted") == pytest.approx({1: 1.0, 2: 1.0})


def hybrid(*candidates: Candidate, readable: float = 1.0) -> dict[int, float]:
    return fuse(candidates, mode="hybrid", readable=readable)


def test_hybrid_finds_a_statement_that_stands_alone_by_its_meaning() -> None:
    found = hybrid(BEST_WORDS, BEST_MEANING)
    assert found == pytest.approx({1: 1.5 * 0.3 + 0.09, 2: 1.5 * 0.6 + 0.09 * 0.5})


@pytest.mark.parametrize(
    ("words", "is_turn", "meaning", "by_words"),
    [(180, False, 1.5, 0.09), (181, False, 1.06, 0.43), (181, True, 0.82, 0.55)],
)
def test_the_kind_of_text_decides_how_much_meaning_weighs(
    words: int, is_turn: bool, meaning: float, by_words: float
) -> None:
    found = hybrid(Candidate(1, keyword=10.0, vector=0.3, words=words, is_turn=is_turn))
    assert found == pytest.approx({1: meaning * 0.3 + by_words})


def test_hybrid_goes_by_words_alone_where_a_vector_is_still_owed() -> None:
    assert hybrid(BEST_WORDS, WORDS_ONLY)[3] == pytest.approx(0.2)


def test_hybrid_bears_candidates_that_no_word_found() -> None:
    assert hybrid(Candidate(1, vector=0.6)) == pytest.approx({1: 0.9})


def test_meaning_counts_by_the_share_of_the_question_that_the_model_can_read() -> None:
    # Half of the letters are Latin: half of what both say together, and half of what words say alone.
    assert hybrid(BEST_MEANING, readable=0.5) == pytest.approx({2: (1.5 * 0.6 + 0.09 + 1) / 2})
    assert hybrid(BEST_MEANING, readable=0.0) == {2: 1.0}


@pytest.mark.parametrize("mode", ["keyword", "vector", "rrf", "weighted", "hybrid"])
def test_nothing_found_is_nothing_fused(mode: str) -> None:
    assert fuse([], mode=mode) == {}
