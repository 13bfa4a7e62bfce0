"""Fusion of both searches' scores; expected values worked out by hand."""

import pytest

from memories.recall.scoring import Candidate, fuse, vector_share

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


def test_hybrid_finds_a_statement_that_stands_alone_by_its_meaning() -> None:
    # Meaning weighs 0.9, and a cosine of 0.6 is 1; words weigh 0.1, and the best match is 1.
    fused = fuse([BEST_WORDS, BEST_MEANING], mode="hybrid")
    assert fused == pytest.approx({1: 0.9 * 0.5 + 0.1, 2: 0.9 + 0.1 * 0.5})


def test_hybrid_finds_a_turn_of_a_conversation_more_by_its_words() -> None:
    turns = [
        Candidate(1, keyword=10.0, vector=0.3, words=20, is_turn=True),
        Candidate(2, keyword=5.0, vector=0.45, words=20, is_turn=True),
    ]
    fused = fuse(turns, mode="hybrid")
    assert fused == pytest.approx({1: 0.45 * 0.5 + 0.55, 2: 0.45 * 0.75 + 0.55 * 0.5})


def test_hybrid_goes_by_words_alone_where_a_vector_is_still_owed() -> None:
    assert fuse([BEST_WORDS, WORDS_ONLY], mode="hybrid")[3] == pytest.approx(0.2)


def test_hybrid_bears_candidates_that_no_word_found() -> None:
    assert fuse([Candidate(1, vector=0.6)], mode="hybrid") == pytest.approx({1: 0.9})


@pytest.mark.parametrize("mode", ["keyword", "vector", "rrf", "weighted", "hybrid"])
def test_nothing_found_is_nothing_fused(mode: str) -> None:
    assert fuse([], mode=mode) == {}


@pytest.mark.parametrize(
    ("candidate", "share"),
    [
        (Candidate(1, vector=0.5, words=180), 0.9),
        (Candidate(1, vector=0.5, words=181), 0.55),
        (Candidate(1, vector=0.5, words=181, is_turn=True), 0.45),
        (Candidate(1, keyword=3.0), 0.0),
    ],
)
def test_the_kind_of_text_decides_how_much_meaning_weighs(candidate: Candidate, share: float) -> None:
    assert vector_share(candidate) == share


def test_meaning_counts_by_the_share_of_the_question_that_the_model_can_read() -> None:
    # Half of the letters are Latin: 0.9 × 0.5 = 0.45 of meaning, the rest of words.
    assert vector_share(BEST_MEANING, readable=0.5) == pytest.approx(0.45)
    fused = fuse([BEST_MEANING], mode="hybrid", readable=0.0)
    assert fused == {2: 1.0}  # words alone: it is the best match of them
