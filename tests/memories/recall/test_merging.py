"""Merging both searches' hits."""

from memories.recall.scoring import Candidate, merge
from memories.search.rows import Hit, HybridHits


def test_each_candidate_has_its_true_score_in_both_arms() -> None:
    merged = merge(HybridHits([Hit(1, 9.0), Hit(2, 4.0)], [Hit(2, 0.7), Hit(3, 0.6)], {3: 1.5}, {1: 0.2}))
    assert merged == [
        Candidate(1, 9.0, 0.2, keyword_rank=1),
        Candidate(2, 4.0, 0.7, keyword_rank=2, vector_rank=1),
        Candidate(3, 1.5, 0.6, vector_rank=2),
    ]


def test_what_an_arm_does_not_know_at_all_scores_nothing_there() -> None:
    assert merge(HybridHits([Hit(1, 9.0)], [Hit(2, 0.7)])) == [
        Candidate(1, 9.0, 0.0, keyword_rank=1),
        Candidate(2, 0.0, 0.7, vector_rank=1),
    ]
