"""Names in a question: known in the group or not, and turns of other speakers."""

import pytest

from memories.recall.abstention import is_about, is_other_spelling, lead_of_others, unknown_share
from memories.recall.question import Question
from memories.recall.scoring import Candidate
from memories.search.rows import RankingFields


@pytest.mark.parametrize(
    ("names", "contents", "share"),
    [
        ({"maria"}, ["We met Maria's mother."], 0.0),
        ({"maria", "john"}, ["We met Maria.", "Tea."], 0.5),
        ({"maria"}, [], 1.0),
        (set(), ["Tea."], 0.0),
        (set(), [], 0.0),
        # A short name is a word of its own, or its plural; of a longer one the first five letters begin one.
        ({"nate"}, ["They donate and coordinate."], 1.0),
        ({"tim"}, ["It takes time."], 1.0),
        ({"tim"}, ["Not TIM's fault."], 0.0),
        ({"beatle"}, ["Two Beatles."], 0.0),
        ({"agile"}, ["Fragile.", "Agiles."], 0.0),
        ({"deborah"}, ["I called Debora."], 0.0),
        ({"caroline"}, ["The Carolingians."], 0.0),
        # Another spelling is the same name; a word in lower case is none.
        ({"mohammed"}, ["Muhhamed: Hi."], 0.0),
        ({"mohammed"}, ["muhhamed: hi."], 1.0),
        # What stands inside an identifier is known, whole parts of it at least.
        ({"username"}, ["Call getUserName first."], 0.0),
        ({"username"}, ["Call getUserNames first."], 1.0),
    ],
)
def test_the_share_of_unknown_names(names: set[str], contents: list[str], share: float) -> None:
    assert unknown_share(names, contents) == share


@pytest.mark.parametrize(
    ("name", "word", "alike"),
    [
        ("mohammed", "muhammad", True),  # 6 of 8 letters in order: 0.75
        ("aqib", "akib", True),  # 3 of 4: 0.75
        ("nerbaas", "nebraas", True),  # 6 of 7: 0.86
        ("jon", "john", True),  # 2 × 3 of 7: 0.86
        ("joanna", "john", False),  # 2 × 3 of 10: 0.6
        ("maria", "joanna", False),  # another first letter
        ("carl", "caroline", False),  # four letters longer
        ("tim", "tom", False),  # 2 of 3: 0.67
    ],
)
def test_names_of_another_spelling(name: str, word: str, alike: bool) -> None:
    assert is_other_spelling(name, {word}) is alike
    assert is_other_spelling(name, {"zebra", word}) is alike


def test_no_words_are_no_other_spelling() -> None:
    assert is_other_spelling("maria", set()) is False


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("Maria says so", True),
        ("I saw Maria’s car", True),
        ("I saw Maria", False),
        ("Hey Maria how are you", False),
        ("Thanks, Maria that helps", False),
        ("Nice, Maria!", False),
        ("Maria! Anna-Maria went home", True),
        ("Annamaria went home", False),
        ("Marias went home", False),
        ("nobody", False),
    ],
)
def test_a_turn_tells_of_somebody_or_only_addresses_them(text: str, tells: bool) -> None:
    assert is_about(text, "maria") is tells


def lead(
    *turns: tuple[str, float], names: frozenset[str] = frozenset({"maria"}), is_turn: bool = True
) -> float:
    """The lead of other speakers among turns as (content, score)."""
    rows = {
        key: RankingFields(key, 1, content, 1, key, 0.5, "asserted") for key, (content, _) in enumerate(turns)
    }
    candidates = {key: Candidate(key, is_turn=is_turn) for key in rows}
    ranked = sorted(((key, score) for key, (_, score) in enumerate(turns)), key=lambda pair: -pair[1])
    return round(lead_of_others(Question("?", None, None, names=names), ranked, candidates, rows), 4)


def test_the_lead_is_between_the_means_of_the_best_and_the_three_best() -> None:
    # John's: (0.9 + (0.9 + 0.6 + 0.6) / 3) / 2 = 0.8; the fourth does not count.
    # Maria's, less 0.07 for being named: (0.53 + (0.53 + 0.33) / 2) / 2 = 0.48.
    others = [("John: a", 0.9), ("John: b", 0.6), ("Eve: c", 0.6), ("Eve: d", 0.1)]
    own = [("Maria: e", 0.6), ("Maria: f", 0.4)]
    assert lead(*others, *own) == 0.32
    # The other way round they do not lead.
    assert lead(*others, *own, names=frozenset({"john", "eve"})) == 0.0
    assert lead(("John: a", 0.5), ("Maria: b", 0.6)) == 0.0


def test_what_tells_of_the_one_named_counts_as_theirs() -> None:
    # John's 0.9 tells of Maria, so only Eve's 0.6 is others': 0.6 − mean of 0.9 and (0.9 + 0.3) / 2 = 0.75 is no lead.
    turns = [("John: Maria sold it", 0.9), ("Eve: what", 0.6), ("Maria: yes", 0.37)]
    assert lead(*turns) == 0.0
    assert lead(("John: Maria, I sold it", 0.9), *turns[1:]) > 0.0


@pytest.mark.parametrize("names", [frozenset(), frozenset({"eve"}), frozenset({"maria", "john"})])
def test_unless_one_speaker_is_named_nobody_leads(names: frozenset[str]) -> None:
    turns = ("John: a", 0.9), ("Maria: b", 0.1)
    assert lead(*turns) == 0.87
    assert lead(*turns, names=names) == 0.0


def test_texts_that_are_no_turns_and_roles_have_no_speakers() -> None:
    turns = ("Maria: b", 0.1), ("John: a", 0.9)
    assert lead(*turns, is_turn=False) == 0.0
    assert lead(("Assistant: a", 0.9), ("User: b", 0.1), names=frozenset({"user"})) == 0.0


def test_turns_without_a_label_are_nobodys() -> None:
    assert lead(("I sold it", 0.9), ("Maria: b", 0.1)) == 0.0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("zoe", "Zoë: See you."),
        ("elodie", "Élodie: See you."),
        ("zoë", "Zoe: See you."),
        ("rené", "Rene: See you."),
    ],
)
def test_a_name_without_its_accents_is_the_same_name(name: str, text: str) -> None:
    assert unknown_share({name}, ["Nothing of that.", text]) == 0.0
    assert unknown_share({name}, ["Nothing of that.", "Anna: See you."]) == 1.0
