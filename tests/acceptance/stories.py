"""Five ways in which a stored text stops being right, each with the expected answers before and after."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from access.tokens import operator
from maintenance.cycle import RunPlan, run_cycle
from memories.browse.listing import list_open_links
from memories.draft import EditDraft
from memories.lifecycle import verbs
from memories.lifecycle.edit import edit
from memories.models import Memory
from memories.types import Trust
from tests.acceptance.conftest import Clock
from tests.acceptance.house import House
from tests.memories.builders import kept

DAY = timedelta(days=1)
STORED = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)  # a Monday
THEN = STORED + 20 * DAY  # a moment at which the old text was right
COMPACTED = STORED + 40 * DAY
CHANGED = STORED + 49 * DAY  # 20 April 2026
NOW = STORED + 60 * DAY

# Events of one week and one topic; the fourth is what each story does to an event.
WEEK = (
    "Anna planted tomatoes in the raised bed",
    "The tomato seedlings were watered twice",
    "We built a trellis for the tomato plants",
    "Aphids on the tomatoes were sprayed with soap water",
    "First ripe tomatoes were harvested from the raised bed",
)
APHIDS = "What were the aphids on the tomatoes sprayed with?"


@dataclass(frozen=True)
class Story:
    """What was stored, what became of it, and how that is asked.

    `old` and `new` hold words that stand in the old text alone, and in what is right now; "" where nothing is.
    `aside` asks for something beside it that stays true. `then` says how the old text is reached afterwards.
    """

    name: str
    text: str
    question: str
    words: str
    old: str
    new: str
    aside: tuple[str, str]
    change: Callable[["World", Memory], None]
    label: str
    then: dict[str, Any] = field(default_factory=lambda: {"as_of": THEN})
    stored: dict[str, Any] = field(default_factory=dict)
    change_event: Callable[["World", Memory], None] = lambda world, event: None
    event_new: str = ""


@dataclass
class World:
    """The store of a story, and its clock."""

    house: House
    clock: Clock
    story: Story
    memory: Memory = field(init=False)

    def store(self) -> None:
        """Store the old text and the texts beside it, as of the first day."""
        self.clock(STORED)
        self.memory = kept(
            self.house.agent, self.story.text, group="ledger", **{"valid_from": STORED} | self.story.stored
        )
        for text in BESIDE:
            kept(self.house.agent, text, group="ledger", valid_from=STORED)

    def change(self) -> None:
        self.clock(CHANGED)
        self.story.change(self, self.memory)
        self.clock(NOW)

    def cycle(self, moment: datetime) -> None:
        self.clock(moment)
        run_cycle(operator(), RunPlan(now=moment, max_share=1))


BESIDE = (
    "The ledger keeps its data in PostgreSQL.",
    "The staging cluster has three nodes.",
    "The invoice interface speaks JSON.",
    "Paula leads the team that audits suppliers.",
    "Every release has a changelog.",
)


def _replace(world: World, memory: Memory) -> None:
    """An agent learns that it has changed, and says what it replaces."""
    new = "The deploy host of the ledger is Falcon."
    told = world.house.tool("store_memory", content=new, supersedes=str(memory.id), group="ledger")
    assert told.structured_content["superseded"] == str(memory.id)


def _flip(world: World, memory: Memory) -> None:
    """An agent says the contrary without knowing of the old text; the conflict is found, and a person decides."""
    new = "The staging cluster does not require two-factor login."
    told = world.house.tool("store_memory", content=new, group="ledger").structured_content
    assert str(memory.id) in [near["id"] for near in told["near"]]
    (conflict,) = list_open_links(world.house.person, group="ledger").rows
    assert {conflict.source.content, conflict.target.content} == {new, memory.content}
    verbs.supersede(world.house.person, memory.id, told["id"], reason="changed in April")


def _retract(world: World, memory: Memory) -> None:
    """It was never true, and nobody knows what is right."""
    assert not world.house.tool("forget_memory", id=str(memory.id), verb="retract").is_error


def _change_a_part(world: World, memory: Memory) -> None:
    """One half of the statement has changed, the other is true as before."""
    new = "The nightly report starts at 02:00 and goes to Lisbon."
    body = {"content": new, "supersedes": str(memory.id), "group": "ledger"}
    assert world.house.rest("post", "/memories", body)[0] == 201


def _let_it_end(world: World, memory: Memory) -> None:
    """Its end was known from the beginning; what holds from then on is stored when it begins."""
    kept(world.house.agent, "Tomas approves every release.", group="ledger", valid_from=CHANGED)


def _event_replaced(world: World, event: Memory) -> None:
    """Restored from its summary, then replaced."""
    verbs.restore(world.house.person, event.id)
    new = "Aphids on the tomatoes were sprayed with neem oil"
    kept(world.house.person, new, type="episodic", supersedes=event.id, valid_from=event.valid_from)


def _event_denied(world: World, event: Memory) -> None:
    verbs.retract(world.house.person, event.id, successor="Aphids on the tomatoes were not sprayed")


def _event_retracted(world: World, event: Memory) -> None:
    verbs.retract(world.house.person, event.id)


def _event_corrected(world: World, event: Memory) -> None:
    verbs.restore(world.house.person, event.id)
    edit(
        world.house.person,
        event.id,
        EditDraft(content="Aphids on the tomatoes were sprayed with nettle brew"),
    )


STORIES: dict[str, Story] = {
    story.name: story
    for story in (
        Story(
            "replacement",
            "The deploy host of the ledger is Kestrel.",
            "Which host is the ledger deployed to?",
            "deploy host",
            "Kestrel",
            "Falcon",
            ("Where does the ledger keep its data?", "PostgreSQL"),
            _replace,
            "superseded: was true until 2026-04-20",
            change_event=_event_replaced,
            event_new="neem oil",
        ),
        Story(
            "polarity flip",
            "The staging cluster requires two-factor login.",
            "Does the staging cluster require two-factor login?",
            "two-factor",
            "cluster requires",
            "does not require",
            ("How many nodes does the staging cluster have?", "three nodes"),
            _flip,
            "superseded: was true until 2026-04-20",
            change_event=_event_denied,
            event_new="not sprayed",
        ),
        Story(
            "retraction",
            "The invoice interface allows 500 requests a minute.",
            "How many requests a minute does the invoice interface allow?",
            "requests a minute",
            "500 requests",
            "",
            ("Which format does the invoice interface speak?", "JSON"),
            _retract,
            "retracted since 2026-04-20: it was wrong",
            then={"known_at": THEN},
            change_event=_event_retracted,
        ),
        Story(
            "partial supersession",
            "The nightly report starts at 02:00 and goes to Amsterdam.",
            "Where does the nightly report go?",
            "nightly report starts",
            "Amsterdam",
            "Lisbon",
            ("When does the nightly report start?", "02:00"),
            _change_a_part,
            "superseded: was true until 2026-04-20",
            change_event=_event_corrected,
            event_new="nettle brew",
        ),
        Story(
            "bounded validity",
            "Ines approves every release.",
            "Who approves every release?",
            "approves every release",
            "Ines",
            "Tomas",
            ("What does every release have?", "changelog"),
            _let_it_end,
            "ended: was true until 2026-04-20",
            stored={"valid_to": CHANGED},
        ),
    )
}
assert all(Trust.ACTIVE not in story.label for story in STORIES.values())
