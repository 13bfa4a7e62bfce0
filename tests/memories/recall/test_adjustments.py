"""Adjustments beside words and meaning; expected values worked out by hand."""

from datetime import UTC, datetime

import pytest

from bench.evaluate.ablation import without
from memories.recall.dates.spans import NamedDate
from memories.recall.question import Question, Speakers
from memories.recall.scoring import (
    Candidate,
    Trace,
    adjust,
    beside_scores,
    is_dated,
    length_adjustment,
    speaker_of,
    thread_scores,
)
from memories.search.rows import RankingFields

SPRING = datetime(2023, 5, 8, 10, 0, tzinfo=UTC)


def memory(content: str = "Maria: We met.", key: int = 1, **fields: object) -> RankingFields:
    """A row that was stored in the place of its key."""
    plain = {"group_id": None, "thread_id": None, "position": None, "confidence": 0.5}
    moment = fields.pop("valid_from", None)
    fields["stored_moment"] = f"{moment:%Y-%m-%d %H:%M:%S}" if moment else ""
    return RankingFields(**plain | {"key": key, "place": key, "content": content, "trust": "active"} | fields)


def adjusted(row: RankingFields, question: Question, *, words: int = 50, is_turn: bool = False) -> float:
    """The adjustment of a fused score of 0."""
    candidate = Candidate(row.key, words=words, is_turn=is_turn)
    scores = adjust({row.key: 0.0}, [candidate], {row.key: row}, question, trace=Trace())
    return scores[row.key]


def asking(**fields: object) -> Question:
    return Question(**{"text": "?", "match": None, "vector": None} | fields)


@pytest.mark.parametrize(
    ("content", "said_by", "lift"),
    [
        ("User: The port is 8081.", Speakers.USER, 0.1),
        ("Assistant: Use 8081.", Speakers.ASSISTANT, 0.1),
        ("Assistant: Use 8081.", Speakers.USER, 0.0),
        ("User: The port is 8081.", Speakers.ANYONE, 0.0),
        ("Maria: The port is 8081.", Speakers.USER, 0.0),
        ("The user: a person", Speakers.USER, 0.0),
    ],
)
def test_what_the_one_who_asks_or_the_assistant_said_is_lifted(
    content: str, said_by: Speakers, lift: float
) -> None:
    assert adjusted(memory(content), asking(said_by=said_by)) == pytest.approx(lift)


def test_each_step_can_be_taken_out() -> None:
    may = asking(dates=(NamedDate(2023, 5, None),))
    row = memory(valid_from=SPRING)
    candidate = Candidate(row.key, words=50)
    for step, left in (("the date", 0.0), ("the time", 0.3)):
        scores = adjust({1: 0.0}, [candidate], {1: row}, may, tuning=without(step), trace=Trace())
        assert scores[1] == pytest.approx(left)


@pytest.mark.parametrize(("group_key", "lift"), [(7, 0.0), (8, -0.1), (None, 0.0)])
def test_another_groups_global_memory_comes_after_the_groups_own(group_key: int | None, lift: float) -> None:
    row, candidate = memory(group_id=7), Candidate(1, words=50)
    scores = adjust({1: 0.0}, [candidate], {1: row}, asking(), group_key=group_key, trace=Trace())
    assert scores[1] == pytest.approx(lift)


def test_a_plain_memory_keeps_its_score() -> None:
    assert adjusted(memory(), asking()) == 0.0


def test_the_date_that_a_question_names_lifts_the_memories_of_that_date() -> None:
    may = asking(dates=(NamedDate(2023, 5, None),))
    assert adjusted(memory(valid_from=SPRING), may) == pytest.approx(0.3)
    assert adjusted(memory(valid_from=SPRING.replace(month=6)), may) == 0.0
    assert adjusted(memory(valid_from=None), may) == 0.0


@pytest.mark.parametrize(
    ("date", "fits"),
    [
        (NamedDate(2023, 5, 8), True),
        (NamedDate(None, 5, 8), True),
        (NamedDate(None, 5, None), True),
        (NamedDate(2023, None, None), True),
        (NamedDate(2023, 5, 9), False),
        (NamedDate(2022, 5, 8), False),
    ],
)
def test_all_that_a_date_says_must_fit(date: NamedDate, fits: bool) -> None:
    assert is_dated(memory(valid_from=SPRING), [date]) is fits


def test_who_asks_when_finds_memories_that_speak_of_a_time() -> None:
    yesterday = memory("Maria: I gave the car away yesterday.")
    assert adjusted(yesterday, asking(asks_when=True)) == pytest.approx(0.1)
    assert adjusted(yesterday, asking()) == 0.0
    assert adjusted(memory("Maria: I gave the car away."), asking(asks_when=True)) == 0.0


def test_the_speaker_that_a_question_names_is_lifted_but_not_whoever_is_spoken_to() -> None:
    about_maria = asking(names=frozenset({"maria"}))
    assert adjusted(memory("Maria: I like tea."), about_maria) == pytest.approx(0.07)
    assert adjusted(memory("John: Hey Maria, tea?"), about_maria) == 0.0


@pytest.mark.parametrize(
    ("content", "speaker"),
    [
        ("Maria: hello", {"maria"}),
        ("Dr. Jean-Luc O'Neil: hello", {"dr.", "jean-luc", "o'neil"}),
        ("The port is 8081", set()),
        ("https://example.org", set()),
        (f"{'a' * 41}: hello", set()),
    ],
)
def test_the_speaker_is_the_name_before_the_colon(content: str, speaker: set[str]) -> None:
    assert speaker_of(content) == speaker


@pytest.mark.parametrize(
    ("words", "is_turn", "part"),
    [
        (25, True, 0.0),
        (100, True, 0.0),
        (200, True, -0.15),
        (400, True, -0.3),
        (400, False, 0.0),  # a text of its own may be long
        (5, False, -0.09287712379549449),  # 0.04 × log2(25 / 5)
        (0, True, -0.18575424759098898),  # as one word: 0.04 × log2(25)
    ],
)
def test_length_takes_off_from_the_very_short_and_from_long_turns(
    words: int, is_turn: bool, part: float
) -> None:
    assert length_adjustment(words, is_turn=is_turn) == pytest.approx(part)


def test_a_thread_is_as_good_as_its_three_best_turns_and_fewer_count_less() -> None:
    fused = {1: 0.9, 2: 0.6, 3: 0.3, 4: 0.1, 5: 0.9}
    assert thread_scores(fused, {1: 7, 2: 7, 3: 7, 4: 7, 5: 8}) == pytest.approx({7: 0.6, 8: 0.3})


def test_what_was_stored_beside_counts_by_the_two_best_within_three() -> None:
    rows = {key: memory(key=key, group_id=1) for key in (10, 11, 13, 14, 20)}
    fused = {10: 0.8, 11: 0.6, 13: 0.4, 14: 0.2, 20: 1.0}
    # 10 has 11 and 13 beside it, not 14; 11 has 10, 13 and 14; 20 stands alone.
    assert beside_scores(fused, rows) == pytest.approx({10: 0.5, 11: 0.6, 13: 0.7, 14: 0.5})


@pytest.mark.parametrize("other", [{"group_id": 2}, {"group_id": 1, "thread_id": 7, "position": 0}])
def test_what_stands_elsewhere_is_not_beside(other: dict[str, int]) -> None:
    rows = {1: memory(key=1, group_id=1), 2: memory(key=2, **other)}
    assert beside_scores({1: 0.8, 2: 0.8}, rows) == {}


def test_what_other_groups_store_in_between_does_not_part_two() -> None:
    rows = {1: memory(key=1, group_id=1, place=1), 900: memory(key=900, group_id=1, place=2)}
    assert beside_scores({1: 0.8, 900: 0.4}, rows) == pytest.approx({1: 0.2, 900: 0.4})


def test_a_tenth_of_what_stands_beside_is_added() -> None:
    rows = {key: memory("The port.", key=key, group_id=1) for key in (1, 2)}
    candidates = [Candidate(key, words=50) for key in rows]
    scores = adjust({1: 0.8, 2: 0.4}, candidates, rows, asking(), trace=Trace())
    assert scores == pytest.approx(
        {1: 0.82, 2: 0.445}
    )  # 0.8 + 0.1 × 0.4 / 2, 0.4 + 0.1 × 0.8 / 2 + 0.005, since it is newer


def test_a_turn_is_pulled_towards_its_thread() -> None:
    rows = {key: memory(key=key, thread_id=7, position=key) for key in (1, 2, 3)}
    candidates = [Candidate(key, words=50, is_turn=True) for key in rows]
    fused = {1: 0.9, 2: 0.6, 3: 0.3}
    scores = adjust(fused, candidates, rows, asking(), trace=Trace())
    # The thread's score is 0.6: 0.9 − 0.3 × 0.3, 0.6, 0.3 + 0.3 × 0.3.
    assert scores == pytest.approx({1: 0.81, 2: 0.6, 3: 0.39})


def test_the_newest_note_of_a_thread_tells_how_things_stand() -> None:
    notes = {1: "Wired the form.", 2: "Tests are green.", 3: "Left: the back button."}
    candidates = [Candidate(key, words=50, is_turn=True) for key in notes]
    fused = {1: 0.9, 2: 0.6, 3: 0.3}
    rows = {key: memory(text, key=key, thread_id=7, position=key) for key, text in notes.items()}
    scores = adjust(fused, candidates, rows, asking(asks_state=True), trace=Trace())
    # As without it, and the newest 0.05 more than the difference to the best one.
    assert scores == pytest.approx({1: 0.81, 2: 0.6, 3: 0.39 + 0.6 + 0.05})
    turns = {key: row._replace(content=f"Maria: {row.content}") for key, row in rows.items()}
    scores = adjust(fused, candidates, turns, asking(asks_state=True), trace=Trace())
    assert scores == pytest.approx({1: 0.81, 2: 0.6, 3: 0.39})


def test_what_people_verified_is_lifted() -> None:
    assert adjusted(memory(trust="verified"), asking()) == pytest.approx(0.05)
    assert adjusted(memory(confidence=1.0), asking()) == pytest.approx(0.025)


def test_importance_moves_ties() -> None:
    assert adjusted(memory(importance=9), asking()) == pytest.approx(0.016)
    assert adjusted(memory(importance=1), asking()) == pytest.approx(-0.016)


def test_the_trace_keeps_every_part_and_they_add_up() -> None:
    row = memory("Maria: Nice, on Monday!", valid_from=SPRING, trust="verified", thread_id=7, position=1)
    question = asking(dates=(NamedDate(None, 5, None),), names=frozenset({"maria"}), asks_when=True)
    trace = Trace()
    candidate = Candidate(1, vector=0.5, words=5, is_turn=True)
    adjust({1: 0.6}, [candidate], {1: row}, question, trace=trace)
    numbers = trace.numbers[1]
    parts = ("fused", "thread", "date", "time", "speaker", "length", "trust")
    assert numbers["vector_share"] == 0.45
    assert numbers["thread"] == pytest.approx(0.3 * (0.2 - 0.6))
    assert numbers["final"] == pytest.approx(sum(numbers[part] for part in parts), abs=1e-3)
