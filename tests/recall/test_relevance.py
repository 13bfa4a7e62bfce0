"""When recall says that it knows nothing."""

from dataclasses import replace

import pytest

from memories.index.terms import Match
from memories.models import Memory
from memories.recall.query import Question
from memories.recall.relevance import (
    is_answerable,
    is_padding,
    related_from,
    root,
    shared_words,
    unknown_share,
)
from memories.recall.trace import Trace

QUESTION = Question(
    "Which databases does the ledger use now?", Match(("databases", "ledger", "use", "now")), None
)


def judge(
    *found: tuple[str, float], others: int = 100, named: frozenset[str] = frozenset()
) -> tuple[bool, Trace]:
    """Judge memories given as (content, cosine), found among so many others that are not near."""
    trace = Trace()
    rows = [Memory(key=key, content=content) for key, (content, _) in enumerate(found)]
    cosines = {1000 + key: 0.01 for key in range(others)}
    cosines |= {key: cosine for key, (_, cosine) in enumerate(found) if cosine}
    question = replace(QUESTION, named=named)
    contents = [row.content for row in rows]
    return is_answerable(question, rows, cosines, trace, contents=contents), trace


def test_nothing_found_is_no_answer() -> None:
    assert judge()[0] is False


def test_one_that_is_near_in_meaning_answers() -> None:
    assert judge(("We settled on PostgreSQL.", 0.47))[0] is True
    assert judge(("We settled on PostgreSQL.", 0.46))[0] is False


def test_shared_words_make_up_for_some_distance() -> None:
    # "ledger" and "use" are 2 of 4 words: 0.25 + 0.45 × 0.5 = 0.475.
    assert judge(("Use the ledger.", 0.25))[0] is True
    assert judge(("Use the ledger.", 0.24))[0] is False


def test_a_name_that_the_group_never_says_takes_from_the_nearness() -> None:
    # One of two names is unknown: 0.5 − 0.18 × 0.5 = 0.41; both are known: 0.5.
    assert judge(("Maria met Joanna.", 0.5), named=frozenset({"maria", "joanna"}))[0] is True
    assert judge(("Maria met Joanna.", 0.5), named=frozenset({"maria", "caroline"}))[0] is False
    # Among few memories an unknown name says nothing.
    assert judge(("Maria met Joanna.", 0.5), named=frozenset({"caroline"}), others=5)[0] is True


def test_a_few_long_texts_count_as_many() -> None:
    # Three texts of 7,000 characters are 21,000: 0.46 is not enough, and an unknown name counts.
    long = "Maria met Joanna. " * 390
    assert judge((long, 0.46), (long, 0.1), (long, 0.1), others=0)[0] is False
    assert judge((long, 0.48), (long, 0.1), (long, 0.1), others=0)[0] is True
    assert judge((long, 0.48), (long, 0.1), (long, 0.1), others=0, named=frozenset({"eve"}))[0] is False


@pytest.mark.parametrize(
    ("names", "contents", "share"),
    [
        ({"maria"}, ["We met Maria's mother."], 0.0),
        ({"maria", "john"}, ["We met Maria.", "Tea."], 0.5),
        ({"maria"}, [], 1.0),
        (set(), ["Tea."], 0.0),
    ],
)
def test_the_share_of_unknown_names(names: set[str], contents: list[str], share: float) -> None:
    assert unknown_share(names, contents) == share


def test_one_with_all_the_words_answers_however_far_its_meaning() -> None:
    assert judge(("Now the ledger uses databases.", 0.01))[0] is True


def test_what_is_far_and_shares_few_words_is_no_answer() -> None:
    answerable, trace = judge(("Maria likes the ledger.", 0.28), ("Tea.", 0.2))
    assert answerable is False
    assert trace.steps[-1].detail == {
        "answerable": False, "nearest_cosine": 0.28, "shared_words": 0.25, "unknown_names": 0.0,
        "reached": 0.3925, "wanted": 0.47,
    }  # fmt: skip


def test_only_the_best_ten_are_judged() -> None:
    assert judge(*[("Tea.", 0.1)] * 10, ("The ledger's database.", 0.9))[0] is False


def test_without_vectors_one_shared_word_is_enough() -> None:
    assert judge(("Maria likes the ledger.", 0.0), others=0)[0] is True
    assert judge(("Maria likes tea.", 0.0), others=0)[0] is False


@pytest.mark.parametrize(
    ("content", "share"),
    [("One database", 0.25), ("LEDGERS use databases now", 1.0), ("nothing of it", 0.0), ("", 0.0)],
)
def test_words_are_shared_whatever_their_endings(content: str, share: float) -> None:
    assert shared_words(QUESTION.match, [content]) == [share]


def test_a_question_without_words_shares_none() -> None:
    assert shared_words(None, ["text", "other"]) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("word", "kept"), [("databases", "datab"), ("ports", "port"), ("uses", "use"), ("tea", "tea")]
)
def test_a_root_is_what_forms_have_in_common(word: str, kept: str) -> None:
    assert root(word) == kept


def test_of_few_memories_less_nearness_is_asked() -> None:
    # 0.02 + 0.075 × (√(2 ln 10) + 0.7) = 0.02 + 0.075 × (2.146 + 0.7) = 0.2335
    assert related_from(10) == pytest.approx(0.2335, abs=0.0005)
    assert judge(("We settled on PostgreSQL.", 0.24), others=9)[0] is True
    assert judge(("We settled on PostgreSQL.", 0.23), others=9)[0] is False
    assert related_from(59) < related_from(60) == 0.47


@pytest.mark.parametrize(
    ("keyword", "cosine", "padding"), [(0.0, 0.05, True), (0.0, 0.10, False), (1.2, -0.1, False)]
)
def test_what_shares_no_word_and_is_not_near_only_fills_up(
    keyword: float, cosine: float, padding: bool
) -> None:
    assert is_padding(keyword, cosine) is padding
