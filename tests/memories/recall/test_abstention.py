"""When recall abstains."""

import random
from dataclasses import replace
from functools import partial

import pytest

from memories.language.word_forms import root
from memories.models import Memory
from memories.recall.abstention import (
    Nearness,
    choose_limits,
    group_level,
    is_answerable,
    is_unrelated,
    shared_word_shares,
    small_store_limit,
)
from memories.recall.pipeline import Ranking
from memories.recall.question import Question
from memories.recall.scoring import Candidate, Trace
from memories.recall.weights import FACTS, FEW, LONG, TALK, UNKNOWN, AbstentionLimits
from memories.search.query_terms import Match
from memories.search.rows import RankingFields

QUESTION = Question(
    "Which databases does the ledger use now?", Match(("databases", "ledger", "use", "now")), None
)
FILL = 1000  # keys of what fills the group up


def judged_row(key: int, content: str) -> RankingFields:
    return RankingFields(key, 1, content, None, None, 0.5, "asserted")


def ranking_of(
    *found: tuple[str, float],
    others: int = 100,
    level: float = 0.001,
    is_turn: bool = True,
    known: str = "Tea.",
) -> Ranking:
    """Rank texts given as (content, cosine) in this order, before so many others that are as near as `level`.

    The others have the text `known`.

    Both searches found each, so that none only fills up.
    """
    texts = [(key, content, cosine) for key, (content, cosine) in enumerate(found)]
    texts += [(FILL + key, known, level) for key in range(others)]
    candidates = {
        key: Candidate(key, 1.0, cosine, vector_rank=1, words=len(content.split()), is_turn=is_turn)
        for key, content, cosine in texts
    }
    scores = [(key, 1 / rank) for rank, (key, *_) in enumerate(texts, start=1)]
    return Ranking(scores, candidates, {key: judged_row(key, content) for key, content, _ in texts})


def judge(
    *found: tuple[str, float],
    others: int = 100,
    level: float = 0.001,
    is_turn: bool = True,
    person_names: frozenset[str] = frozenset(),
    known: str = "Tea.",
) -> tuple[bool, Trace]:
    """Judge texts as ranking_of() takes them; they are turns of a conversation, or facts that stand alone."""
    trace = Trace()
    label = "Ben: " if is_turn else ""
    texts = [(f"{label}{content}", cosine) for content, cosine in found]
    ranking = ranking_of(*texts, others=others, level=level, is_turn=is_turn, known=known)
    best = [Memory(key=key, content=ranking.rows[key].content) for key, _ in ranking.scores[: len(found)]]
    return is_answerable(replace(QUESTION, person_names=person_names), ranking, best, trace), trace


def test_nothing_found_is_no_answer() -> None:
    assert judge()[0] is False


ALL_WORDS = "The ledger is in use. Databases now!"  # every word of the question, so that none is unknown


def test_a_turn_that_is_near_in_meaning_answers() -> None:
    assert judge(("We settled on PostgreSQL.", 0.47), known=ALL_WORDS)[0] is True
    assert judge(("We settled on PostgreSQL.", 0.45), known=ALL_WORDS)[0] is False


def test_words_of_the_first_turn_make_up_for_some_distance() -> None:
    # "ledger" and "use" are 2 of 4 words: 0.27 + 0.4 × 0.5 = 0.47; those of the second count nothing.
    assert judge(("Use the ledger.", 0.27), known=ALL_WORDS)[0] is True
    assert judge(("Use the ledger.", 0.25), known=ALL_WORDS)[0] is False
    assert judge(("Tea.", 0.45), ("Use the ledger.", 0.1), known=ALL_WORDS)[0] is False


def test_words_that_no_candidate_has_speak_against_an_answer() -> None:
    # "databases" and "now" are 2 of 4: 0.62 + 0.4 × 0.5 − 0.7 × 0.5 = 0.47
    assert judge(("Use the ledger.", 0.62))[0] is True
    assert judge(("Use the ledger.", 0.60))[0] is False
    # Of a statement, which is asked for in other words, they say nothing.
    assert judge(("Use the ledger.", 0.19), is_turn=False)[0] is True


def test_of_a_fact_less_nearness_is_asked_and_words_weigh_less() -> None:
    # Two of four words: 0.19 + 0.3 × 0.5 = 0.34, less 0.5 × 0.001.
    assert judge(("We settled on PostgreSQL.", 0.34), is_turn=False)[0] is True
    assert judge(("We settled on PostgreSQL.", 0.33), is_turn=False)[0] is False
    assert judge(("Use the ledger.", 0.19), is_turn=False)[0] is True
    assert judge(("Use the ledger.", 0.18), is_turn=False)[0] is False


def test_a_fact_must_stand_out_of_what_the_group_holds_otherwise() -> None:
    # The sixtieth's cosine is 0.3: 0.49 − 0.5 × 0.3 = 0.34, 0.47 − 0.15 = 0.32; where it is 0.1, 0.39 − 0.05 = 0.34.
    assert judge(("We settled on PostgreSQL.", 0.49), is_turn=False, level=0.3)[0] is True
    assert judge(("We settled on PostgreSQL.", 0.47), is_turn=False, level=0.3)[0] is False
    assert judge(("We settled on PostgreSQL.", 0.39), is_turn=False, level=0.1)[0] is True


def test_in_a_conversation_that_all_turns_come_near_speaks_for_an_answer() -> None:
    # 0.29 + 0.6 × 0.3 = 0.47; without any level 0.29 is too little.
    assert judge(("We settled on PostgreSQL.", 0.29), level=0.3, known=ALL_WORDS)[0] is True
    assert judge(("We settled on PostgreSQL.", 0.27), level=0.3, known=ALL_WORDS)[0] is False
    assert judge(("We settled on PostgreSQL.", 0.29), known=ALL_WORDS)[0] is False


def test_the_level_is_the_sixtieth_cosine_or_the_last_of_fewer() -> None:
    assert group_level([0.5, *[0.4] * 58, 0.3, 0.2]) == 0.3
    assert group_level([0.1, 0.5]) == 0.1
    assert group_level([]) == 0.0


@pytest.mark.parametrize(
    ("content", "is_turn", "measure"),
    [
        (" ".join(["word"] * 181), False, LONG),
        ("Maria: " + " ".join(["word"] * 181), True, LONG),
        (" ".join(["word"] * 180), False, FACTS),
        ("Maria: We settled on PostgreSQL.", True, TALK),
        ("Maria: We settled on PostgreSQL.", False, FACTS),  # stands alone
        ("We settled on PostgreSQL.", True, FACTS),  # in a thread, but nobody's turn
    ],
)
def test_long_texts_and_somebodys_turns_have_limits_of_their_own(
    content: str, is_turn: bool, measure: AbstentionLimits
) -> None:
    assert choose_limits(ranking_of((content, 0.3), is_turn=is_turn), [0], vectors=60) is measure


def test_most_of_the_judged_say_what_kind_of_text_it_is() -> None:
    ranking = ranking_of(("Maria: One.", 0.3), ("Two.", 0.3), ("Three.", 0.3))
    assert choose_limits(ranking, [0, 1], vectors=60) is TALK
    assert choose_limits(ranking, [0, 1, 2], vectors=60) is FACTS


def test_a_mode_that_reads_no_texts_has_a_measure_of_its_own() -> None:
    bare = replace(ranking_of(("One.", 0.3)), rows={})
    assert choose_limits(bare, [0], vectors=60) is UNKNOWN
    assert choose_limits(bare, [0], vectors=59) is FEW


def test_where_no_texts_are_read_cosine_and_words_decide_and_no_name_is_unknown() -> None:
    question = replace(QUESTION, person_names=frozenset({"eve"}))
    # 0.47; with one of four words 0.36 + 0.45 × 0.25 = 0.4725.
    for content, enough, short in (("Tea.", 0.47, 0.46), ("The ledger.", 0.36, 0.35)):
        for cosine, answers in ((enough, True), (short, False)):
            bare = replace(ranking_of((content, cosine)), rows={})
            assert is_answerable(question, bare, [Memory(key=0, content=content)], Trace()) is answers


def test_what_is_reached_is_weighed_by_the_kind_of_text() -> None:
    near = Nearness(0.6, 0.5, 0.4, 0.2, 0.25, 0.1, 0.1)
    # 0.6 + 0.4 × 0.4 + 0.6 × 0.2 − 0.8 × 0.25 − 0.7 × 0.1 − 5.5 × 0.1 = 0.06
    assert near.reached(TALK) == near.reached(LONG) == pytest.approx(0.06)
    # 0.6 + 0.3 × 0.5 − 0.5 × 0.2 − 0.5 × 0.25 = 0.525
    assert near.reached(FACTS) == pytest.approx(0.525)
    # 0.6 + 0.3 × 0.5
    assert near.reached(FEW) == pytest.approx(0.75)


def test_a_name_that_the_group_never_says_takes_from_the_nearness() -> None:
    # One of two names is unknown: 0.7 − 0.8 × 0.5 = 0.3; both are known: 0.7.
    asked = partial(judge, ("Maria met Joanna.", 0.7), known=ALL_WORDS)
    assert asked(person_names=frozenset({"maria", "joanna"}))[0] is True
    assert asked(person_names=frozenset({"maria", "caroline"}))[0] is False
    # A name that is spelled otherwise is known.
    assert asked(person_names=frozenset({"maria", "johanna"}))[0] is True
    # Among few memories an unknown name says nothing.
    assert judge(("Maria met Joanna.", 0.7), person_names=frozenset({"caroline"}), others=5)[0] is True


def test_a_few_long_texts_count_as_many() -> None:
    # Three texts of more than 20,000 characters with two of four words: 0.63 + 0.4 × 0.5 + 0.6 × 0.1 − 0.7 × 0.5 = 0.54,
    # and an unknown name counts.
    long = "Maria and Joanna use the ledger. " * 220
    assert judge((long, 0.62), (long, 0.1), (long, 0.1), others=0)[0] is False
    assert judge((long, 0.64), (long, 0.1), (long, 0.1), others=0)[0] is True
    assert (
        judge((long, 0.64), (long, 0.1), (long, 0.1), others=0, person_names=frozenset({"eve"}))[0] is False
    )


def talk(*turns: tuple[str, float]) -> Ranking:
    """Rank turns given as (content, score), all as near as 0.7, before a hundred others."""
    ranking = ranking_of(*((content, 0.7) for content, _ in turns), known=ALL_WORDS)
    scores = [(key, score) for key, (_, score) in enumerate(turns)]
    return replace(ranking, scores=[*scores, *((key, 0.0) for key, _ in ranking.scores[len(turns) :])])


def test_what_another_one_said_does_not_answer_for_the_one_who_is_named() -> None:
    question = replace(QUESTION, names=frozenset({"maria"}))
    # John's turn leads Maria's by 0.8 − (0.7 − 0.07) = 0.17; 0.7 − 5.5 × 0.17 is far below 0.46.
    ranking = talk(("John: I sold the car.", 0.8), ("Maria: Nice!", 0.7))
    best = [Memory(key=key, content=ranking.rows[key].content) for key in (0, 1)]
    trace = Trace()
    assert is_answerable(question, ranking, best, trace) is False
    assert trace.steps[-1].detail["others_lead"] == 0.17
    # Asked about John, it is the answer, and so it is for one who is no speaker.
    assert is_answerable(replace(question, names=frozenset({"john"})), ranking, best, Trace()) is True
    assert is_answerable(replace(question, names=frozenset({"eve"})), ranking, best, Trace()) is True


def test_all_the_words_from_another_one_are_no_answer_either() -> None:
    question = replace(QUESTION, names=frozenset({"maria"}))
    all_words = "Now the ledger uses databases."
    ranking = talk((f"John: {all_words}", 0.8), ("Maria: Nice!", 0.7))
    best = [Memory(key=key, content=ranking.rows[key].content) for key in (0, 1)]
    assert is_answerable(question, ranking, best, Trace()) is False
    assert is_answerable(QUESTION, ranking, best, Trace()) is True


def test_one_with_all_the_words_answers_however_far_its_meaning() -> None:
    assert judge(("Now the ledger uses databases.", 0.01))[0] is True


def test_what_is_far_and_shares_few_words_is_no_answer() -> None:
    answerable, trace = judge(("Maria likes the ledger.", 0.28), ("Tea.", 0.2), level=0.1)
    assert answerable is False
    # One of four words, which alone is known: 0.28 + 0.4 × 0.25 + 0.6 × 0.1 − 0.7 × 0.75 = −0.085.
    assert trace.steps[-1].detail == {
        "answerable": False, "kind": "talk", "nearest_cosine": 0.28, "shared_words": 0.25, "shared_by_first": 0.25,
        "level": 0.1, "unknown_names": 0.0, "unknown_words": 0.75, "others_lead": 0.0, "reached": -0.085, "wanted": 0.46,
        "confidence": "low",
    }  # fmt: skip


def test_the_trace_of_a_fact_says_that_it_was_measured_as_one() -> None:
    _, trace = judge(("Maria likes the ledger.", 0.5), is_turn=False, level=0.2)
    # 0.5 + 0.3 × 0.25 − 0.5 × 0.2 = 0.475.
    assert trace.steps[-1].detail == {
        "answerable": True, "kind": "facts", "nearest_cosine": 0.5, "shared_words": 0.25, "shared_by_first": 0.25,
        "level": 0.2, "unknown_names": 0.0, "unknown_words": 0.0, "others_lead": 0.0, "reached": 0.475, "wanted": 0.33,
        "confidence": "high",
    }  # fmt: skip


def test_only_the_best_ten_are_judged() -> None:
    assert judge(*[("Tea.", 0.1)] * 10, ("The ledger's database.", 0.9))[0] is False
    assert judge(*[("Tea.", 0.1)] * 9, ("The ledger's database.", 0.9))[0] is True


def test_without_vectors_one_shared_word_is_enough() -> None:
    assert judge(("Maria likes the ledger.", 0.0), others=0)[0] is True
    assert judge(("Maria likes tea.", 0.0), others=0)[0] is False


@pytest.mark.parametrize(
    ("content", "share"),
    [("One database", 0.25), ("LEDGERS use databases now", 1.0), ("nothing of it", 0.0), ("", 0.0)],
)
def test_words_are_shared_whatever_their_endings(content: str, share: float) -> None:
    assert shared_word_shares(QUESTION.match, [content]) == [share]


@pytest.mark.parametrize(
    ("word", "text", "shares"),
    [
        ("port", "Ports: 80", True),
        ("port", "a reporter", False),
        ("port", "portable", False),
        ("port", "port_80", True),
        ("databases", "a datab", True),
        ("classes", "the classic", True),
        ("classes", "a class", False),  # five letters that end in s: its root is "cla"
        ("tea", "team", False),
        ("tea", "steal tea", True),
        ("tea", "teass", True),
        ("tea", "teasss", False),  # more than five letters: its root is "teass"
        ("name", "call getUserName", True),
        ("username", "call getUserName", True),
        ("username", "call get_user_name", False),  # user and name are its words
        ("age", "call getPageSize", False),
        ("sername", "call getUserName", False),
        ("cplusplus", "written in C++", True),
    ],
)
def test_a_word_is_shared_where_a_texts_word_has_its_root(word: str, text: str, shares: bool) -> None:
    assert shared_word_shares(Match((word,)), [text]) == [float(shares)]
    # A text that is not ASCII is looked through word by word.
    assert shared_word_shares(Match((word,)), [f"{text} é"]) == [float(shares)]


def test_looking_for_roots_finds_what_looking_at_each_word_does() -> None:
    letters = random.Random(4)
    for _ in range(2000):
        text = "".join(letters.choices("aassstSA1_ '-.", k=letters.randint(0, 25)))
        asked = Match(tuple("".join(letters.choices("ast", k=letters.randint(1, 8))) for _ in range(4)))
        assert shared_word_shares(asked, [text]) == shared_word_shares(asked, [f"{text} é"]), (asked, text)


def test_a_word_without_a_root_is_not_looked_for() -> None:
    assert shared_word_shares(Match(("ss",)), ["ss"]) == [0.0]
    assert shared_word_shares(Match(("ss", "tea")), ["tea"]) == [1.0]


def test_a_question_without_words_shares_none() -> None:
    assert shared_word_shares(None, ["text", "other"]) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("word", "kept"), [("databases", "datab"), ("ports", "port"), ("uses", "use"), ("tea", "tea")]
)
def test_a_root_is_what_forms_have_in_common(word: str, kept: str) -> None:
    assert root(word) == kept


def test_of_few_memories_less_nearness_is_asked() -> None:
    # 0.02 + 0.075 × (√(2 ln 10) + 1.4) = 0.02 + 0.075 × (2.146 + 1.4) = 0.286
    assert small_store_limit(10) == pytest.approx(0.286, abs=0.0005)
    assert judge(("We settled on PostgreSQL.", 0.29), others=9)[0] is True
    assert judge(("We settled on PostgreSQL.", 0.28), others=9)[0] is False
    # 0.02 + 0.075 × (√(2 ln 59) + 1.4) = 0.339 is more than is asked of many statements.
    assert small_store_limit(59) == pytest.approx(0.33)
    assert judge(("We settled on PostgreSQL.", 0.33), others=58)[0] is True
    assert judge(("We settled on PostgreSQL.", 0.32), others=58)[0] is False


@pytest.mark.parametrize(
    ("keyword", "cosine", "expected"), [(0.0, 0.13, True), (0.0, 0.15, False), (1.2, -0.1, False)]
)
def test_what_shares_no_word_and_is_not_near_only_fills_up(
    keyword: float, cosine: float, expected: bool
) -> None:
    assert is_unrelated(keyword, cosine) is expected
