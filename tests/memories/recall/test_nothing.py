"""Questions that nothing answers, and questions that must not be taken for such, on the shipped set of a team's store."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from access.models import Group
from access.tokens import operator
from bench.evaluate.abstention import judge_all
from bench.evaluate.question_files import read_queries
from bench.evaluate.run import store_corpus
from memories.embedding import Encoder
from memories.recall import RecallRequest, RecallResult, recall
from memories.recall.question import person_names_in
from memories.search.query_terms import exact_numbers_in
from tests.memories.builders import kept
from tests.people import person

HARBOR = Path("bench/evaluate/sets/harbor")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Which pull request size does Marguerite Dufour accept?", {"marguerite", "dufour"}),
        ("does marguerite accept it", {"marguerite"}),  # no capital is needed
        ("when is teodor's birthday", {"teodor"}),
        ("What is our SLO?", set()),
        ("what is our slo", set()),
        ("Who is on call around Christmas?", set()),
        ("Is the Finnish launch blocked?", set()),
        ("What did we ship in Boston on Friday?", set()),
        ("Is HBR-1207 fixed?", set()),
    ],
)
def test_a_capital_makes_no_person(text: str, names: set[str]) -> None:
    assert person_names_in(text) == names


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Which service is listening on 9443?", ("9443",)),
        ("What changed in promenade 12.4?", ("12.4",)),
        ("What happened in 2025?", ()),
        ("What is there on 3.5.2026 at 10:30 with 22 %", ()),
        ("Is the port still 8082?", ()),
        ("The deploy port of the ledger is 8082.", ()),
    ],
)
def test_numbers_that_a_text_has_or_does_not(text: str, numbers: tuple[str, ...]) -> None:
    assert exact_numbers_in(text) == numbers


def ask(alice: User, question: str, group: str = "ledger") -> RecallResult:
    return recall(person(alice), RecallRequest(question, group=group))


@pytest.fixture
def team(alice: User, ledger: Group, encoder: Encoder) -> None:
    """Enough memories of a team to be judged as many, with some of their own."""
    actor = person(alice)
    for at in range(60):
        kept(actor, f"The nightly job number {at} copies table t{at} to the warehouse.", group="ledger")
    kept(
        actor,
        "Our service level objective for tracking lookups is 99.9 % a month; the SLO is measured daily.",
        group="ledger",
    )
    kept(actor, "Foghorn delivers our text messages and retries three times.", group="ledger")
    kept(actor, "The licence of Vigilo has 12 seats, 9 of them are taken.", group="ledger")
    kept(actor, "A message through Textwell costs 4 cents.", group="ledger")
    kept(actor, "Parental leave is planned with Rosalind.", group="ledger")


@pytest.mark.django_db(transaction=True)
@pytest.mark.model
@pytest.mark.usefixtures("team")
class TestATeamsStore:
    @pytest.mark.parametrize("name", ["SLO", "slo"])
    def test_an_acronym_is_answered_as_it_is_in_lower_case(self, alice: User, name: str) -> None:
        answer = ask(alice, f"What is our {name} for tracking lookups?")
        assert answer.items[0].text.startswith("Our service level objective")
        assert (answer.confidence, answer.doubt) == ("high", "")

    def test_a_price_is_answered_by_what_has_one(self, alice: User) -> None:
        assert ask(alice, "How much do we pay for a seat at Vigilo?").abstained
        assert "4 cents" in ask(alice, "How much do we pay for a message through Textwell?").items[0].text

    def test_a_port_that_nothing_has_is_answered_by_nothing(self, alice: User) -> None:
        assert ask(alice, "Which job listens on 9443?").abstained

    def test_a_value_to_be_checked_is_answered_by_the_one_stored(self, alice: User) -> None:
        assert "4 cents" in ask(alice, "Does a message through Textwell cost 1250 cents?").items[0].text

    def test_a_word_that_nothing_resembles_gives_nothing(self, alice: User) -> None:
        answer = ask(alice, "photosynthesis")
        assert (answer.abstained, answer.confidence) == (True, "low")

    @pytest.mark.parametrize(
        ("question", "language"),
        [
            ("Qui remplace Rosalind pendant son congé parental ?", "French"),
            ("Wer vertritt Rosalind in ihrer Elternzeit?", "German"),
        ],
    )
    def test_another_language_is_answered_by_words_and_marked(
        self, alice: User, question: str, language: str
    ) -> None:
        answer = recall(person(alice), RecallRequest(question, group="ledger", explain=True))
        assert "Rosalind" in answer.items[0].text
        assert answer.confidence == "low"
        assert "By words alone, low confidence" in answer.show()
        assert answer.trace is not None
        [asked] = [step.detail for step in answer.trace.steps if step.name == "question"]
        assert (asked["language"], asked["read_by_model"]) == (language, False)


@pytest.mark.django_db(transaction=True)
@pytest.mark.model
def test_a_past_day_without_events_is_not_answered_by_what_was_true_then(
    alice: User, ledger: Group, encoder: Encoder
) -> None:
    day = datetime.now(UTC) - timedelta(days=100)
    kept(
        person(alice),
        "Incidents are announced in the channel harbor-alerts.",
        group="ledger",
        valid_from=day - timedelta(days=90),
    )
    kept(
        person(alice),
        "Idris Okonjo leads the payments squad.",
        group="ledger",
        valid_from=day - timedelta(days=90),
    )
    assert ask(alice, f"Was there an incident on {day:%d %B %Y}?").abstained
    assert "Idris" in ask(alice, f"Who did lead the payments squad on {day:%d %B %Y}?").items[0].text


@pytest.mark.django_db(transaction=True)
@pytest.mark.model
def test_other_groups_do_not_fill_an_answer(
    alice: User, ledger: Group, garden: Group, encoder: Encoder
) -> None:
    actor = person(alice)
    kept(actor, "Indent with tabs, never with spaces.", group="garden")
    kept(
        actor,
        "To export the year: open the ledger, choose the accounts, leave out spaces in names, " * 12,
        group="ledger",
        scope="global",
    )
    answer = ask(alice, "tabs or spaces?", group="garden")
    assert [item.memory.group.slug for item in answer.items] == ["garden"]
    assert "export the year" in ask(alice, "how do I export the year?", group="garden").items[0].text


@pytest.mark.django_db(transaction=True)
@pytest.mark.model
def test_the_kinds_of_a_teams_store_are_told(encoder: Encoder) -> None:
    """The development half of the shipped set: nine of ten refusals are right, and six of ten questions are refused."""
    queries = read_queries(HARBOR, split="dev")
    store_corpus(operator(), HARBOR, encoder=encoder, progress=lambda *_: None)
    judged = judge_all(operator(), HARBOR, queries, encoder=encoder, progress=lambda *_: None)
    asked, refused = Counter(j.kind for j in judged), Counter(j.kind for j in judged if j.margin < 0)
    wrongly = refused.pop("answerable")
    rightly = sum(refused.values())
    assert rightly >= 0.65 * (len(judged) - asked["answerable"])
    assert rightly >= 0.88 * (rightly + wrongly)
    for kind in ("off topic", "one word", "unknown person", "unknown identifier"):
        assert refused[kind] == asked[kind]


def test_a_month_that_is_named_is_not_a_name(ledger: Group, encoder: Encoder) -> None:
    kept(
        operator(),
        "The big oven failed.",
        group="ledger",
        type="episodic",
        valid_from=datetime(2026, 10, 13, tzinfo=UTC),
    )
    for number in range(12):
        kept(operator(), f"The delivery van number {number} is parked behind the bakery.", group="ledger")
    found = recall(
        operator(), RecallRequest("What happened to the big oven in October 2026?", group="ledger")
    )
    assert (found.items[0].text, found.confidence) == ("The big oven failed.", "high")
