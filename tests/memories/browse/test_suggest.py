"""Search as you type: beginnings of words, typing errors, meaning; never a word of a group closed to the actor."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from access.actor import Actor, Via
from access.errors import GroupNotFound, InvalidInput, NotPermitted
from access.models import Group
from memories.browse import suggest as suggesting
from memories.browse.suggest import MatchKind, excerpt_of, similar_words, suggest
from memories.draft import Draft
from memories.language.word_forms import distance, early_edits, nearest
from memories.lifecycle import verbs
from memories.models import Memory, RecallLog
from memories.queries.visibility import listed_by
from memories.recall_log import COUNTER
from memories.search.base import search_index
from memories.search.query_terms import words, words_starting_with
from memories.store import store
from sources.captures.search import PanelQuery, search_panel
from tests.people import agent, alice, bob, charlie, garden, ledger, person, the_group, the_owner

__all__ = ["alice", "bob", "charlie", "garden", "ledger"]
pytestmark = [pytest.mark.django_db, pytest.mark.model]
HOSTILE = [
    '"', '""', "*", "a*", "NEAR(a b)", "content : x", "filter:ingroup1", "^de", "de AND", "de OR ", "(", ")", "-", "--",
    "'; DROP TABLE memories_memory; --", "%", "_", "de*port", "{content} : de", "\u202edeploy", "𝔡𝔢𝔭", "日本", "é" * 50,
]  # fmt: skip


def remember(user: User, content: str, group: str = "ledger", **fields: object) -> Memory:
    stored = store(person(user), Draft(content, group=group, scope="group", **fields))  # type: ignore[arg-type]
    assert stored.memory is not None
    return stored.memory


def texts(actor: Actor, typed: str, **options: object) -> list[str]:
    return [each.text for each in suggest(actor, typed, **options)]  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def port(shared_rows: None, encoder: object) -> Memory:
    """A memory among others of its group."""
    alice, _, _ = the_owner(), the_group("ledger"), the_group("garden")
    remember(alice, "The invoices are sent on Fridays.")
    remember(alice, "Tomatoes want sun.", "garden")
    return remember(alice, "The deployment port is 8081.")


@pytest.mark.parametrize(
    "typed", ["dep", "deploy", "DEPLOYM", "deployment po", "port deploym", "8081", "808"]
)
def test_the_beginning_of_a_word_finds_it(alice: User, port: Memory, typed: str) -> None:
    [found] = suggest(person(alice), typed)
    assert (found.memory.id, found.how) == (port.id, MatchKind.WORDS)


@pytest.mark.parametrize("typed", ["", " ", "d", "depx", "invoices deploym", "dep walrus", "?!"])
def test_what_fits_nothing_finds_nothing(alice: User, port: Memory, typed: str) -> None:
    assert suggest(person(alice), typed) == []


def test_a_space_says_that_the_word_is_whole(alice: User, port: Memory) -> None:
    assert texts(person(alice), "invo") == ["The invoices are sent on Fridays."]
    assert texts(person(alice), "invo ") == []


@pytest.mark.parametrize(
    "typed",
    [
        "deplyoment",
        "depoyment",
        "deploymant",
        "dpeloyment",
        "seployment",
        "deployemnt po",
        "invioces",
        "fridais",
        "tomatos",
    ],
)
def test_a_typing_fault_does_not_matter(alice: User, port: Memory, typed: str) -> None:
    found = suggest(person(alice), typed)
    assert len(found) == 1
    assert found[0].how == (
        MatchKind.WORDS if typed in ("fridais", "tomatos") else MatchKind.SPELLING
    )  # the same stem


@pytest.mark.parametrize("typed", ["prot", "walrus", "8082", "dxpxoyment"])
def test_another_word_is_no_typing_fault(alice: User, port: Memory, typed: str) -> None:
    assert [each.how for each in suggest(person(alice), typed)] in (
        [],
        [MatchKind.SPELLING] if typed == "prot" else [],
    )


def test_meaning_finds_other_words(alice: User, port: Memory) -> None:
    asked = "on which day do we bill our customers"
    assert texts(person(alice), asked) == []
    [first, *_] = suggest(person(alice), asked, by_meaning=True)
    assert (first.memory.content, first.how) == ("The invoices are sent on Fridays.", MatchKind.MEANING)
    assert texts(person(alice), "quantum chromodynamics of heavy ions", by_meaning=True) == []


def test_an_id_leads_to_its_memory(alice: User, bob: User, port: Memory) -> None:
    [found] = suggest(person(alice), f" {port.id} ")
    assert (found.memory.id, found.how) == (port.id, MatchKind.ID)
    foreign = Memory.objects.get(content="Tomatoes want sun.")
    assert suggest(person(bob), str(foreign.id)) == []


def test_words_of_other_groups_never_show_not_even_as_a_correction(
    alice: User, bob: User, charlie: User, port: Memory
) -> None:
    assert texts(person(alice), "tom") == ["Tomatoes want sun."]
    for typed in ("tom", "tomatoes", "tomatoos", "otmatoes", "sun", "want s"):
        assert texts(person(bob), typed) == [], typed
        assert texts(person(bob), typed, by_meaning=True) == [], typed
    assert texts(person(bob), "dep") == ["The deployment port is 8081."]
    for typed in ("dep", "deplyoment", "tom"):
        assert texts(person(charlie), typed) == [], typed


def test_a_correction_is_of_ones_own_groups_however_many_others_are_nearer(
    alice: User, bob: User, port: Memory
) -> None:
    for letter in "abcdefgh":
        remember(alice, f"deploymen{letter} is theirs", "garden")
    # "deploymenz" is one letter from each of those, and from the word of bob's group.
    assert texts(person(bob), "deploymenz") == ["The deployment port is 8081."]


def test_a_group_narrows_and_must_be_ones_own(alice: User, bob: User, port: Memory) -> None:
    remember(alice, "The deployment of hoses.", "garden")
    assert len(texts(person(alice), "deploym")) == 2
    assert texts(person(alice), "deploym", group="garden") == ["The deployment of hoses."]
    with pytest.raises(GroupNotFound):
        suggest(person(bob), "deploym", group="garden")


def test_a_global_memory_is_found_from_every_group(alice: User, bob: User, port: Memory) -> None:
    store(person(alice), Draft("Kilograms are the unit of mass.", group="garden", scope="global"))
    assert texts(person(bob), "kilogr") == ["Kilograms are the unit of mass."]


def test_who_may_not_read_is_refused(alice: User, port: Memory) -> None:
    with pytest.raises(NotPermitted):
        suggest(Actor(name="none", via=Via.REST), "dep")


def test_quarantined_words_lead_a_person_there_and_an_agent_nowhere(alice: User, port: Memory) -> None:
    Memory.objects.filter(pk=port.pk).update(trust="quarantined")
    for typed in ("deploym", "deplyoment", str(port.id)):
        assert texts(person(alice), typed) == ["The deployment port is 8081."]
        assert texts(agent(alice), typed) == []
        assert texts(agent(alice), typed, by_meaning=True) == []


def test_what_was_forgotten_comes_after_what_counts(alice: User, port: Memory) -> None:
    newer = remember(alice, "The deployment window is on Tuesday night.")
    verbs.forget(person(alice), newer.id)
    assert [each.memory.state for each in suggest(person(alice), "deploym")] == ["live", "forgotten"]


@pytest.mark.parametrize("typed", HOSTILE)
def test_no_text_breaks_the_search(alice: User, port: Memory, typed: str) -> None:
    for by_meaning in (False, True):
        suggest(person(alice), typed, by_meaning=by_meaning)
    assert texts(person(alice), "dep") == ["The deployment port is 8081."]


def test_what_is_not_allowed_is_said(alice: User, port: Memory) -> None:
    for limit in (0, 21):
        with pytest.raises(InvalidInput) as refused:
            suggest(person(alice), "dep", limit=limit)
        assert refused.value.field == "limit"
    with pytest.raises(InvalidInput) as refused:
        suggest(person(alice), "x" * 201)
    assert refused.value.field == "q"


def test_nothing_is_counted_as_recalled(alice: User, port: Memory) -> None:
    COUNTER.flush()
    RecallLog.objects.all().delete()  # what other tests asked
    suggest(person(alice), "dep")
    suggest(person(alice), "deployment", by_meaning=True)
    COUNTER.flush()
    assert RecallLog.objects.count() == 0
    assert Memory.objects.get(pk=port.pk).access_count == 0


def test_it_costs_as_many_queries_for_many_as_for_few(alice: User, port: Memory) -> None:
    def queries(typed: str) -> int:
        suggest(person(alice), typed)
        with CaptureQueriesContext(connection) as seen:
            suggest(person(alice), typed)
        return len(seen)

    few = queries("deploym")
    for number in range(30):
        remember(alice, f"The deployment number {number} went well.", type="episodic")
    assert queries("deploym") <= few
    assert len(suggest(person(alice), "deploym", limit=20)) == 20


def test_the_line_shows_the_word(alice: User) -> None:
    long = "one two three " * 20 + "needle and more " + "words " * 40
    line, marks = excerpt_of(long, ["needle"])
    assert [line[start:end] for start, end in marks] == ["needle"]
    assert line.startswith("…")
    assert line.endswith("…")
    assert "needle" in line
    assert len(line) <= 142
    assert excerpt_of("short  and\nplain", ["and"]) == ("short and plain", ((6, 9),))


@pytest.mark.parametrize(
    ("content", "typed", "marked"),
    [
        ("The office in Łódź opens in May.", "lodz", ["Łódź"]),
        ("The office in Lodz opens in May.", "Łódź", ["Lodz"]),
        ("Herr Müller hat den Schlüssel.", "muller schlussel", ["Müller", "Schlüssel"]),
        ("Die Straße ist gesperrt.", "strasse", ["Straße"]),
        ("Søren owns the ferry.", "sor", ["Sør"]),
    ],
)
def test_accents_and_strokes_do_not_matter_either_way(
    alice: User, content: str, typed: str, marked: list[str]
) -> None:
    remember(alice, content)
    remember(alice, "Tomatoes want sun.")
    [found] = suggest(person(alice), typed)
    assert (found.how, found.memory.content) == (MatchKind.WORDS, content)
    assert [found.text[start:end] for start, end in found.excerpt.marks] == marked


def test_only_beginnings_of_words_are_marked() -> None:
    assert excerpt_of("A report about the port", ["port"]).marks == ((19, 23),)
    assert excerpt_of("部署端口是八千", ["端口"]).marks == ((2, 4),)


@pytest.mark.parametrize(
    ("one", "other", "far"),
    [
        ("port", "port", 0),
        ("prot", "port", 1),
        ("pot", "port", 1),
        ("poort", "port", 1),
        ("pork", "port", 1),
        ("trop", "port", 3),
        ("postgers", "postgres", 1),
        ("kubrnets", "kubernetes", 2),
        ("", "ab", 2),
    ],
)
def test_distance_counts_letters_put_in_left_out_replaced_and_swapped(one: str, other: str, far: int) -> None:
    assert distance(one, other, most=3) == far
    assert distance(other, one, most=3) == far
    assert distance(one, other, most=0) == (0 if far == 0 else 1)


def test_the_nearest_come_first() -> None:
    assert nearest("deplyo", ["deploi", "deploy", "display", "zebra"], edits=2) == [
        "deploy",
        "deploi",
    ]


def test_early_edits_are_one_letter_away() -> None:
    edits = early_edits("port")
    assert {"prot", "opot", "ort", "sport", "fort", "prt"} >= {"ort", "fort", "sport"}
    assert {"ort", "fort", "sport", "oprt", "prot"} <= set(edits)
    assert "port" not in edits
    assert all(distance("port", one, most=2) == 1 for one in edits)


def test_short_words_and_numbers_are_taken_as_they_are(alice: User, port: Memory) -> None:
    seen = listed_by(person(alice), None)
    assert similar_words("por", seen) == ["por"]
    assert similar_words("8081", seen) == ["8081"]
    assert similar_words("deplyment", seen)[0] == "deplyment"


def test_words_of_other_groups_neither_help_nor_crowd_out(
    alice: User, bob: User, port: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, the first 400 words of all groups and of those the 24 nearest were looked for."""
    monkeypatch.setattr(suggesting, "MAX_SIMILAR", 2)
    own = similar_words("deplyoment", listed_by(person(bob), None))
    remember(alice, " ".join(f"depl{letter}oment" for letter in "abcdefg"), "garden")
    assert similar_words("deplyoment", listed_by(person(bob), None)) == own
    assert len(similar_words("deplyoment", listed_by(person(alice), None))) > len(own)


@pytest.mark.parametrize(
    ("text", "beginnings", "found"),
    [
        ("Deploy the DEPLOYMENT, redeploy depot.", ["dep"], {"deploy", "deployment", "depot"}),
        ("redeploy and undeployed", ["deploy"], set()),
        ("my_deploy-port2 port 2port", ["deploy", "port"], {"deploy", "port2", "port"}),
        ("deploy deploydeploy", ["deploy"], {"deploy", "deploydeploy"}),
        ("Der Öffner öffnet, eröffnet.", ["öff"], {"öffner", "öffnet"}),
        ("das Déployer", ["deploy"], set()),  # as in words(), an accent is a letter of its own
        ("", ["de"], set()),
    ],
)
def test_the_words_that_begin_so_are_those_of_the_text(
    text: str, beginnings: list[str], found: set[str]
) -> None:
    assert words_starting_with(text, beginnings) == found


@given(st.text(alphabet="ab1_ .-Éé", max_size=40), st.text(alphabet="ab1", min_size=1, max_size=3))
def test_looking_for_the_letters_finds_what_taking_out_all_words_does(text: str, beginning: str) -> None:
    assert words_starting_with(text, [beginning]) == {
        word for word in words(text) if word.startswith(beginning)
    }


def test_of_many_matches_those_that_fit_best_come_first_whatever_their_number(
    alice: User, ledger: Group
) -> None:
    """Twenty have the word inside, one begins with it and is the oldest; two are shown."""
    best = remember(alice, "Lantern number 0 begins with it.")
    others = [remember(alice, f"Number {n} of the shelf is a lantern of glass.") for n in range(1, 21)]
    shown = suggest(person(alice), "lantern", limit=2)
    assert [each.memory.key for each in shown] == [best.key, others[-1].key]
    assert [each.memory.group.slug for each in shown] == ["ledger", "ledger"]


def test_what_left_the_rooms_after_the_search_is_not_shown(
    alice: User, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search and the reading of what it found are two statements; here a memory is withdrawn between them."""
    gone, kept = (remember(alice, f"The lantern of shelf {n} is lit.") for n in (1, 2))
    find_newest = search_index().find_newest

    def withdrawn_meanwhile(*args: object, **named: object) -> list[int]:
        keys = find_newest(*args, **named)  # type: ignore[arg-type]
        Memory.objects.filter(key=gone.key).update(trust="quarantined")
        return keys

    assert {each.memory.key for each in suggest(agent(alice), "lantern")} == {gone.key, kept.key}
    monkeypatch.setattr(search_index(), "find_newest", withdrawn_meanwhile)
    assert [each.memory.key for each in suggest(agent(alice), "lantern")] == [kept.key]


def test_an_unfinished_word_that_ends_like_a_plural_is_no_shorter_word(alice: User, ledger: Group) -> None:
    """The index strips the s of "pos", and "port" begins with the rest."""
    base = remember(alice, "We settled on PostgreSQL for the books.")
    remember(alice, "The deploy port is 8081.")
    assert [each.memory.key for each in suggest(person(alice), "pos")] == [base.key]
    cafe = remember(alice, "Lunch is at the Cafés of the harbour.")
    for typed in ("cafe", "cafes", "café", "cafés"):
        assert [each.memory.key for each in suggest(person(alice), typed)] == [cafe.key], typed


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("C++", "The parser is written in C++ for speed."),
        ("c++ pars", "The parser is written in C++ for speed."),
        ("C#", "The desktop tool is written in C# by Anna."),
        ("口", "部署端口是8081。"),
        ("署端口", "部署端口是8081。"),
        ("庭", "大きな庭がある。"),
        ("🎉", "The release went out 🎉."),
    ],
)
def test_names_with_signs_and_single_letters_of_scripts_without_spaces_are_found(
    alice: User, ledger: Group, typed: str, found: str
) -> None:
    for text in (
        "The parser is written in C++ for speed.",
        "The desktop tool is written in C# by Anna.",
        "The letter C comes third.",
        "部署端口是8081。",
        "大きな庭がある。",
        "The release went out 🎉.",
    ):
        remember(alice, text)
    [one] = suggest(person(alice), typed)
    assert (one.text, one.how) == (found, MatchKind.WORDS)


@pytest.mark.parametrize("typed", ["C++ walrus", "c++ pars ", "c# pars", "港", "端署"])
def test_all_of_them_must_be_there(alice: User, ledger: Group, typed: str) -> None:
    remember(alice, "The parser is written in C++ for speed.")
    remember(alice, "部署端口是8081。")
    assert suggest(person(alice), typed) == []


def test_forms_of_other_groups_are_not_found(alice: User, bob: User, ledger: Group, garden: Group) -> None:
    remember(alice, "部署端口是8081。", "garden")
    assert suggest(person(bob), "口") == []


def test_no_suggestion_shows_a_text_that_its_group_withdrew_in_whatever_dress(
    alice: User, ledger: Group
) -> None:
    said = "The wharfinger Palle keeps two sets of books."
    remember(alice, "**the wharfinger Palle keeps two sets of books**", type="procedural")
    original = remember(alice, said)
    verbs.retract(person(alice), original.id)
    for asked in ("wharfinger", "wharfingr", "who keeps two sets of books?"):
        for by_meaning in (False, True):
            assert texts(agent(alice), asked, by_meaning=by_meaning) == []
            found = suggest(person(alice), asked, group="ledger", by_meaning=by_meaning)
            assert {each.memory.id for each in found} <= {original.id}  # a person finds it in its state
    assert [each.memory.id for each in suggest(person(alice), "wharfinger")] == [original.id]
    assert search_panel(agent(alice), PanelQuery("wharfinger Palle")) == []
