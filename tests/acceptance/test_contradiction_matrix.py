"""The contradiction matrix: five ways to stop being right, by five duties; each cell is a test of its own.

What is told as a fact, a way of doing or an entity carries its label once it is stale. An event is no such statement: it
happened on its day, and every face gives that day with it.
"""

import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from access.tokens import operator
from access.visibility import Narrowing
from maintenance.doctor import repair
from maintenance.embeddings.reembed import reembed
from memories.browse.inspection import inspect_memory
from memories.browse.listing import ListFilter, list_memories
from memories.draft import Draft
from memories.models import Memory
from memories.queries.labels import label_of
from memories.recall import RecallRequest, recall
from memories.recall.scoring import MODES
from memories.recall_log import COUNTER
from memories.search.base import search_index
from memories.sessions.context_pack import get_context
from memories.store import store
from memories.store.bulk import store_many
from memories.types import State
from sources.exporting import export
from sources.importing.formats.exports import restore_export
from sources.importing.formats.texts import TEXTS
from sources.importing.importer import LineRules
from tests.acceptance.conftest import Clock
from tests.acceptance.house import House
from tests.acceptance.reading import HANDED_OUT, ON_THE_MACHINE, Wanted, having, read_out, tellers
from tests.acceptance.stories import APHIDS, CHANGED, COMPACTED, DAY, NOW, STORED, STORIES, THEN, WEEK, World
from tests.maintenance.events import happen
from tests.memories.builders import fresh, pin_as_before
from tests.people import agent
from tests.settings import REPOSITORY
from tests.sizes import part

pytestmark = [pytest.mark.django_db, pytest.mark.model]
READERS = HANDED_OUT | ON_THE_MACHINE
# What a copy that came in again may be: waiting for a person, or a wording of one that waits.
OF_COPIES = (
    "candidate",
    "merged: combined into another memory",
    "superseded: was true until 2026-04-20",
)


def wanted(world: World) -> Wanted:
    return Wanted(world.story.question, world.story.words, str(world.memory.id))


def told(world: World, question: str, **moments: Any) -> list[tuple[str, str]]:
    """Recall's answer: each text with its label, best first."""
    asked = RecallRequest(question, group="ledger", narrowing=Narrowing(**moments))
    return [(item.text, item.label) for item in recall(world.house.agent, asked).items]


def right_before(world: World) -> None:
    """The control: before the change the old text is the answer, and every face tells it."""
    assert told(world, world.story.question)[0] == (world.story.text, "")
    assert tellers(READERS, world.house, wanted(world), world.story.old) == [*READERS]


def right_after(world: World) -> None:
    """The new text is the first answer by every way of searching; where there is none, nothing is made up."""
    story = world.story
    for mode in MODES:
        items = recall(world.house.agent, RecallRequest(story.question, group="ledger", mode=mode)).items
        assert [
            item.text for item in items if story.old in item.text and item.memory.type != "episodic"
        ] == []
        facts = [(item.text, item.label) for item in items if item.memory.type != "episodic"]
        if story.new:
            assert [label for text, label in facts if story.new in text] == [""], mode
        if story.new and mode == "hybrid":  # the mode in use puts it first
            assert story.new in facts[0][0]
    question, still = story.aside
    assert still in told(world, question)[0][0]


def right_answer(world: World) -> None:
    world.store()
    right_before(world)
    world.change()
    right_after(world)
    if world.story.new:
        assert world.story.new in told(world, world.story.question)[0][0]
        assert tellers(READERS, world.house, wanted(world), world.story.new) == [
            name for name in READERS if name not in missing_by_id(world)
        ]
    else:
        assert not any(world.story.words in text for text, _ in told(world, world.story.question))


def missing_by_id(world: World) -> set[str]:
    """An ended fact has no successor in its chain, so its own id leads to nothing that counts."""
    ends = world.story.name == "bounded validity"
    return {"recall by id", "tool recall_memory by id", "resource of the memory"} if ends else set()


def stale_rows(world: World, said: Any) -> Iterator[dict[str, Any]]:
    """Each memory of a JSON answer that contains the old text."""
    if isinstance(said, dict):
        if world.story.old in str(said.get("content", said.get("text", ""))) and "id" in said:
            yield said
        for part in said.values():
            yield from stale_rows(world, part)
    elif isinstance(said, list):
        for part in said:
            yield from stale_rows(world, part)


def all_labelled(world: World) -> int:
    """Check that wherever the old text is told it says that it is history; give in how many places it was."""
    house, story, id_ = world.house, world.story, world.memory.id
    assert [t for t in tellers(READERS, house, wanted(world), story.old) if not is_dated(world)] == []
    seen = 0
    moments = [{"as_of": THEN}, {"known_at": THEN}, {"as_of": THEN, "known_at": NOW - DAY}, {"as_of": NOW}]
    for moment in moments:
        for mode in MODES:
            asked = RecallRequest(story.question, group="ledger", narrowing=Narrowing(**moment), mode=mode)
            items = [i for i in recall(house.agent, asked).items if is_stale(world, i.memory)]
            assert {item.label for item in items} <= {story.label, *OF_COPIES}
            seen += len(items)
        pack = get_context(
            house.agent, group="ledger", query=story.question, narrowing=Narrowing(**moment)
        ).text
        marks = re.findall(r"^<memory ([^>]*)>\n([^<]*)", pack, re.M)
        stale = [said for said, text in marks if story.old in text and " episodic " not in said]
        assert all(any(f'trust="{label}"' in said for label in (story.label, *OF_COPIES)) for said in stale)
        seen += len(stale)
    answers = [
        house.rest("get", f"/memories?group=ledger&state=all&q={story.words}")[1],
        house.rest("get", f"/memories/{id_}?versions=true")[1],
        house.rest("get", f"/memories/{id_}/inspect")[1],
        house.rest("post", "/recall", {"query": story.question, "group": "ledger", "where": {"as_of": THEN.isoformat()}})[1],
        json.dumps(house.fields("memory_inspect", id=str(id_))),
        json.dumps(house.fields("recall_memory", query=story.question, where={"known_at": THEN.isoformat()}, group="ledger")),
    ]  # fmt: skip
    for answer in answers:
        for row in stale_rows(world, json.loads(answer)):
            if row.get("type") != "episodic":
                assert row.get("label", "").startswith((story.label, *OF_COPIES)), (answer[:80], row)
                seen += 1
    page = house.page(f"/admin/memories/memory/{id_}/change/")
    assert story.old in page
    assert re.search("superseded|retracted|was true until 2026-04-20", page)
    return seen


def is_stale(world: World, memory: Memory) -> bool:
    return world.story.old in memory.content and memory.type != "episodic"


def is_dated(world: World) -> bool:
    """True if only events, which carry their day, contain the old text."""
    rows = Memory.objects.filter(content__contains=world.story.old, state=State.LIVE)
    return bool(rows) and not any(is_stale(world, row) and not label_of(row) for row in rows)


def no_unlabelled_stale_text(world: World) -> None:
    world.store()  # as right_answer stores it, which looks at it before the change
    world.change()
    assert all_labelled(world) >= 8


def old_export(world: World, folder: Path) -> Path:
    out, path = io.StringIO(), folder / "before.jsonl"
    export(operator(), out)
    path.write_text(out.getvalue(), encoding="utf-8")
    return path


Way = Callable[[World, Path], None]


def again(world: World) -> Draft:
    """The old text as it was stored, with its end if it had one: without it, it would be another claim."""
    return Draft(world.story.text, group="ledger", **world.story.stored)


def by_an_agent(world: World, folder: Path) -> None:
    for name in ("one", "two", "three"):
        store(agent(world.house.user, name=name), again(world))


def by_lines(world: World, folder: Path) -> None:
    file = folder / "notes.jsonl"
    file.write_text(json.dumps({"id": "1", "text": world.story.text}), encoding="utf-8")
    TEXTS.run(operator(), file, LineRules(source="notes", group="ledger", scope="global"))


def by_many(world: World, folder: Path) -> None:
    store_many(operator(), [replace(again(world), source="wiki", source_ref="3")])


def by_the_old_export(world: World, folder: Path) -> None:
    restore_export(operator(), folder / "before.jsonl")


def by_another_stores_export(world: World, folder: Path) -> None:
    """The same text, live in a store that knows nothing of the change, under an id of its own."""
    text = (folder / "before.jsonl").read_text(encoding="utf-8")
    other = str(world.memory.id)[:-4] + "beef"
    (folder / "other.jsonl").write_text(text.replace(str(world.memory.id), other), encoding="utf-8")
    restore_export(operator(), folder / "other.jsonl")


REENTRIES: tuple[Way, ...] = (by_an_agent, by_lines, by_many, by_the_old_export)


def holds_over_time(world: World, folder: Path) -> None:
    """Decay, compaction, promotion, a rebuild, a repair, a re-embed, and the old text from every side."""
    world.store()
    said = happen([f"{world.story.text[:-1]}, said on day {at}" for at in range(3)], start=STORED, step=DAY)
    week = happen(WEEK, start=STORED, step=DAY / 4, thread="garden")
    right_before(world)
    old_export(world, folder)
    world.change()
    for moment in (NOW, NOW + 60 * DAY, NOW + 150 * DAY):
        COUNTER.flush()
        world.cycle(moment)
        right_after(world)
    search_index().rebuild()
    repair(operator())
    reembed(operator())
    right_after(world)
    assert all(fresh(event).summary for event in week), "the cycles did their work"
    assert Memory.objects.filter(source="loci:promote").exclude(trust="candidate").count() == 0
    assert all(fresh(event).state in ("live", "dormant") for event in said)
    for enter in REENTRIES:
        if enter is by_lines and world.story.stored:
            continue  # such a line cannot say when what it tells ended
        enter(world, folder)
        right_after(world)
    assert all_labelled(world) >= 8  # all that came in again is there beside the rest
    world.cycle(NOW + 151 * DAY)
    right_after(world)


def history_is_knowable(world: World) -> None:
    """A question about what was true or known then returns the old text with its label, also after cycles and a rebuild."""
    world.store()
    story, moment = world.story, Narrowing(**world.story.then)
    world.clock(THEN + DAY)
    assert told(world, story.question, **story.then)[0] == (story.text, "")
    world.change()
    for work in (lambda: None, lambda: world.cycle(NOW + 30 * DAY), lambda: search_index().rebuild()):
        work()
        assert told(world, story.question, **story.then)[0] == (story.text, story.label)
        rows = list_memories(world.house.agent, ListFilter(group="ledger", **story.then)).rows
        assert [label_of(row) for row in rows if row.content == story.text] == [story.label]
        assert (
            story.old
            in get_context(world.house.agent, group="ledger", query=story.question, narrowing=moment).text
        )
        found = inspect_memory(world.house.agent, world.memory.id, narrowing=moment)
        assert (found.memory.content, found.label) == (story.text, story.label)
        if "known_at" in story.then:  # what was wrong was never true, whatever moment is asked
            assert not any(story.old in text for text, _ in told(world, story.question, as_of=THEN))
    after = dict.fromkeys(story.then, NOW)
    assert not any(story.old in text for text, _ in told(world, story.question, **after))


def summaries_and_packs_follow(world: World) -> None:
    """A pinned memory's place in the pack goes to its correction; a summary contains no retracted event."""
    world.store()
    pin_as_before(world.house.agent, fresh(world.memory))  # a pin of a person would make the change wait
    events = happen(WEEK, start=STORED - 60 * DAY, step=DAY / 4)
    ending = happen(["Slugs ate tomatoes in the raised bed"], start=STORED + DAY, expires_at=CHANGED)
    world.cycle(COMPACTED)
    (summary,) = Memory.objects.filter(source="loci:compact")
    assert all(fresh(event).summary == summary for event in events)
    assert "soap water" in told(world, APHIDS)[0][0]
    packs = (
        "context pack",
        "tool get_context",
        "resource of the group",
        "prompt start_session",
        "REST context",
    )
    readers = {name: READERS[name] for name in packs}
    assert tellers(readers, world.house, wanted(world), world.story.old) == [*packs]
    world.change()
    answers = read_out(readers, world.house, wanted(world))
    assert having(world.story.old, answers) == []
    assert having(world.story.new or "500 requests", answers) == ([*packs] if world.story.new else [])
    if world.story.name == "bounded validity":  # what ends goes into no summary that does not
        assert (fresh(summary).state, "Slugs" in summary.content) == ("live", False)
        assert fresh(ending[0]).superseded_by is None
        assert not any("Slugs" in text for text, _ in told(world, "What did the slugs eat?"))
        return
    world.story.change_event(world, events[3])
    for _ in range(2):
        rows = told(world, APHIDS)
        assert [text for text, label in rows if "soap water" in text and not label] == []
        assert world.story.event_new in " ".join(text for text, _ in rows)
        for event in (events[0], events[1], events[2], events[4]):  # nothing else was lost with it
            assert any(event.content in text for text, _ in told(world, event.content))
        world.cycle(NOW + 15 * DAY)


@dataclass(frozen=True)
class Column:
    """A duty, as the table names it."""

    title: str
    check: Callable[..., None]


COLUMNS: dict[str, Column] = {
    "right": Column("right answer", right_answer),
    "labelled": Column("no unlabelled stale text", no_unlabelled_stale_text),
    "holds": Column("holds over time and re-entry", holds_over_time),
    "history": Column("history knowable", history_is_knowable),
    "follow": Column("summaries and packs follow", summaries_and_packs_follow),
}


@pytest.mark.parametrize("row", list(STORIES))
def test_another_stores_export_brings_it_in_as_history_or_not_at_all(
    house: House, clock: Clock, tmp_path: Path, row: str
) -> None:
    """Importing a store that does not know of the change does not revive what is outdated here."""
    world = World(house, clock, STORIES[row])
    world.store()
    old_export(world, tmp_path)
    world.change()
    by_another_stores_export(world, tmp_path)
    right_after(world)


# What holds over time takes as long as all else: two of the five here, all in `make proof lists`.
OVER_TIME = part([*STORIES], 3)
CELLS = [
    pytest.param(row, column, id=f"{row}-{column}")
    for row in STORIES
    for column in COLUMNS
    if column != "holds" or row in OVER_TIME
]


@pytest.mark.parametrize(("row", "column"), CELLS)
def test_cell(house: House, clock: Clock, tmp_path: Path, row: str, column: str) -> None:
    """Each kind of contradiction keeps each duty."""
    world = World(house, clock, STORIES[row])
    check = COLUMNS[column].check
    if check is holds_over_time:
        check(world, tmp_path)
    else:
        check(world)


def table() -> str:
    """The matrix as a Markdown table; the tests above check its contents."""
    head = ["", *(column.title for column in COLUMNS.values())]
    rows = [[row, *("yes" for _ in COLUMNS)] for row in STORIES]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def test_the_page_of_proofs_tells_the_table() -> None:
    """docs/dev/proof.md says of each cell what its test says, and all hold."""
    sys.stdout.write(f"\n{table()}\n")
    page = (REPOSITORY / "docs" / "dev" / "proof.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("<!-- matrix: held to by the tests -->\n")
    assert rest.partition("\n<!-- matrix: end -->")[0] == table()
    assert len(CELLS) == 25 - (len(STORIES) - len(OVER_TIME))
