"""What a candidate's features add to its score; expected values worked out by hand."""

from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime

import pytest

from memories.language.dates.spans import NamedDate
from memories.recall.question import Question
from memories.recall.scoring import (
    Candidate,
    Trace,
    beside_scores,
    is_dated,
    measure,
    score,
    speaker_of,
    thread_scores,
)
from memories.recall.weights import WEIGHTS
from memories.search.rows import RankingFields

SPRING = datetime(2023, 5, 8, 10, 0, tzinfo=UTC)


def memory(content: str = "Maria: We met.", key: int = 1, **fields: object) -> RankingFields:
    """A row that was stored in the place of its key."""
    plain = {"group_id": None, "thread_id": None, "position": None, "confidence": 0.5}
    moment = fields.pop("valid_from", None)
    fields["stored_moment"] = f"{moment:%Y-%m-%d %H:%M:%S}" if moment else ""
    return RankingFields(**plain | {"key": key, "place": key, "content": content, "trust": "active"} | fields)


def adjusted(row: RankingFields, question: Question, *, words: int = 50, is_turn: bool = False) -> float:
    """The score of a memory that neither search says anything of."""
    candidate = Candidate(row.key, words=words, is_turn=is_turn)
    return score([candidate], {row.key: row}, question, trace=Trace())[row.key]


def turns(keyword: Sequence[float]) -> list[Candidate]:
    """Turns of a conversation without vectors: words alone, as a share of the best, are what the searches say."""
    return [
        Candidate(key, keyword=value, words=50, is_turn=True) for key, value in enumerate(keyword, start=1)
    ]


def asking(**fields: object) -> Question:
    return Question(**{"text": "?", "match": None, "vector": None} | fields)


@pytest.mark.parametrize(("group_key", "lift"), [(7, 0.0), (8, -0.1), (None, 0.0)])
def test_another_groups_global_memory_comes_after_the_groups_own(group_key: int | None, lift: float) -> None:
    row, candidate = memory(group_id=7), Candidate(1, words=50)
    scores = score([candidate], {1: row}, asking(), group_key=group_key, trace=Trace())
    assert scores[1] == pytest.approx(lift)


def test_a_plain_memory_keeps_its_score() -> None:
    assert adjusted(memory(), asking()) == 0.0


def test_the_date_that_a_question_names_lifts_the_memories_of_that_date() -> None:
    may = asking(dates=(NamedDate(2023, 5, None),))
    assert adjusted(memory(valid_from=SPRING), may) == pytest.approx(0.32)
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
        (5, False, -0.1160964),  # 0.05 × log2(25 / 5)
        (0, True, -0.2321928),  # as one word: 0.05 × log2(25)
    ],
)
def test_length_takes_off_from_the_very_short_and_from_long_turns(
    words: int, is_turn: bool, part: float
) -> None:
    assert adjusted(memory(), asking(), words=words, is_turn=is_turn) == pytest.approx(part, abs=1e-6)


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


def test_a_fifth_of_what_stands_beside_is_added() -> None:
    rows = {key: memory("The port.", key=key, group_id=1) for key in (1, 2)}
    candidates = [Candidate(1, keyword=8.0, words=50), Candidate(2, keyword=4.0, words=50)]
    scores = score(candidates, rows, asking(), trace=Trace())
    # 1 + 0.2 × 0.5 / 2, and 0.5 + 0.2 × 1 / 2 + 0.005, since it is newer
    assert scores == pytest.approx({1: 1.05, 2: 0.605})


def test_a_turn_is_pulled_towards_its_thread() -> None:
    rows = {key: memory(key=key, thread_id=7, position=key) for key in (1, 2, 3)}
    scores = score(turns([10.0, 6.0, 2.0]), rows, asking(), trace=Trace())
    # The thread's score is 0.6: a third of the difference.
    assert scores == pytest.approx({1: 1 - 0.33 * 0.4, 2: 0.6, 3: 0.2 + 0.33 * 0.4})


def test_the_newest_note_of_a_thread_tells_how_things_stand() -> None:
    notes = {1: "Wired the form.", 2: "Tests are green.", 3: "Left: the back button."}
    rows = {key: memory(text, key=key, thread_id=7, position=key) for key, text in notes.items()}
    usual = {1: 1 - 0.33 * 0.4, 2: 0.6, 3: 0.2 + 0.33 * 0.4}
    scores = score(turns([10.0, 6.0, 2.0]), rows, asking(asks_state=True), trace=Trace())
    # As without it, and the newest 0.05 more than the difference to the best one.
    assert scores == pytest.approx(usual | {3: usual[3] + 0.8 + 0.05})
    spoken = {key: row._replace(content=f"Maria: {row.content}") for key, row in rows.items()}
    assert score(turns([10.0, 6.0, 2.0]), spoken, asking(asks_state=True), trace=Trace()) == pytest.approx(
        usual
    )


def test_what_people_verified_is_lifted() -> None:
    assert adjusted(memory(trust="verified"), asking()) == pytest.approx(0.05)
    assert adjusted(memory(confidence=1.0), asking()) == pytest.approx(0.025)


def test_importance_moves_ties() -> None:
    assert adjusted(memory(importance=9), asking()) == pytest.approx(0.016)
    assert adjusted(memory(importance=1), asking()) == pytest.approx(-0.016)


def test_tags_count_by_the_share_of_the_question_that_they_are() -> None:
    def of_tags(tags: str, *words: str) -> float:
        return adjusted(memory(tags=tags), asking(subject_words=frozenset(words)))

    assert of_tags('["config"]', "config") == pytest.approx(0.8)
    assert of_tags('["config"]', "config", "start") == pytest.approx(0.2)
    assert of_tags('["release process"]', "release") == 0.0  # half of a tag is none
    assert of_tags('["config", "legal", "people"]', "legal", "config") == pytest.approx(0.8)
    assert of_tags("[]", "config") == 0.0


def test_a_number_of_the_question_tells_like_texts_apart() -> None:
    asked = asking(numbers=("2.3",))
    assert adjusted(memory("Backup of larch: 2.3 TB."), asked) == pytest.approx(0.1)
    assert adjusted(memory("Backup of larch: 2.31 TB."), asked) == 0.0


def test_recency_is_little_and_follows_the_order_of_storing() -> None:
    rows = {key: memory(key=key, group_id=key) for key in (7, 5, 9)}
    scores = score([Candidate(key, words=50) for key in rows], rows, asking(), trace=Trace())
    assert scores == pytest.approx({5: 0.0, 7: 0.0025, 9: 0.005})


def test_each_feature_is_named_in_the_table_of_weights() -> None:
    row = memory("Maria: Nice, on Monday!", valid_from=SPRING, trust="verified", thread_id=7, position=1)
    question = asking(dates=(NamedDate(None, 5, None),), names=frozenset({"maria"}), asks_state=True)
    features = measure([Candidate(1, words=5, is_turn=True)], {1: row}, question, related={1: "asked"})
    assert features.keys() <= {each.name for each in fields(WEIGHTS)}


def test_the_trace_keeps_every_part_and_they_add_up() -> None:
    row = memory("Maria: Nice, on Monday!", valid_from=SPRING, trust="verified", thread_id=7, position=1)
    question = asking(dates=(NamedDate(None, 5, None),), names=frozenset({"maria"}))
    trace = Trace()
    score([Candidate(1, vector=0.5, keyword=2.0, words=5, is_turn=True)], {1: row}, question, trace=trace)
    numbers = trace.numbers[1]
    parts = ("meaning", "words", "thread", "date", "speaker", "length", "verified")
    assert (numbers["meaning"], numbers["words"]) == (0.41, 0.55)  # 0.82 × 0.5, 0.55 × 1
    assert numbers["thread"] == pytest.approx(0.33 * (0.96 / 3 - 0.96), abs=1e-3)
    assert numbers["final"] == pytest.approx(sum(numbers[part] for part in parts), abs=1e-3)
