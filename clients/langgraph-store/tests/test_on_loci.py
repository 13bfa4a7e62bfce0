"""What a team's memory adds to LangGraph's store."""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.store.base import BaseStore
from loci_team_memory_client import Loci, LociError, NotFound, calls
from loci_team_memory_langgraph import LociStore

PLACE = ("users", "ada")


@pytest.fixture
def store(server: Any, group: str) -> LociStore:
    return LociStore(server.loci, group=group)


def memories(server: Any, group: str) -> list[Any]:
    return list(server.loci.list_all_memories(group=group).items)


def test_a_graph_reads_and_writes_it(store: LociStore) -> None:
    class State(TypedDict):
        question: str
        known: str

    def remember(state: State, *, store: BaseStore) -> State:
        store.put(PLACE, "food", {"text": "Ada likes pizza with anchovies."})
        [found, *_] = store.search(PLACE, query=state["question"])
        return {**state, "known": found.value["text"]}

    graph = StateGraph(State).add_node(remember).add_edge(START, "remember").compile(store=store)
    answer = graph.invoke({"question": "What food does Ada like?", "known": ""})
    assert answer["known"] == "Ada likes pizza with anchovies."


def test_a_person_corrects_the_value(server: Any, group: str, store: LociStore) -> None:
    store.put(PLACE, "food", {"text": "Ada likes pizza."})
    store.put(PLACE, "more", {"text": "Ada likes soup.", "sure": True})
    for row in memories(server, group):
        server.loci.edit_memory(row.id, content=row.content.replace("likes", "hates"))
    assert store.get(PLACE, "food").value == {"text": "Ada hates pizza."}
    assert store.get(PLACE, "more").value == {"text": "Ada hates soup.", "sure": True}
    server.loci.edit_memory(
        next(row.id for row in memories(server, group) if "soup" in row.content), content="No JSON."
    )
    assert store.get(PLACE, "more").value == {"text": "No JSON."}
    store.put(PLACE, "more", {"n": 1})
    assert store.get(PLACE, "more").value == {"n": 1}


def test_a_put_is_a_version_and_a_delete_is_taken_back(server: Any, group: str, store: LociStore) -> None:
    for number in range(3):
        store.put(PLACE, "food", {"number": number})
    [row] = memories(server, group)
    assert len(server.loci.read_memory(row.id, versions=True).versions) == 3
    store.delete(PLACE, "food")
    assert memories(server, group) == []
    server.loci.do_to_memory(row.id, "restore")
    assert store.get(PLACE, "food").value == {"number": 2}


def test_a_token_sees_the_items_of_its_groups(server: Any, group: str, store: LociStore) -> None:
    other = server.loci.add_group(f"{group}-2").slug
    by_label = LociStore(server.loci)
    for slug in (group, other):
        by_label.put((slug, "ada"), "food", {"text": f"Ada of {slug} likes pizza."})
    assert {item.namespace[0] for item in by_label.search((), limit=100)} >= {group, other}
    with Loci(server.url, server.new_token(group, "--group", group)) as narrow:
        mine = LociStore(narrow)
        assert {item.namespace for item in mine.search(())} == {(group, "ada")}
        assert {item.namespace for item in mine.search((), query="Who likes pizza?")} == {(group, "ada")}
        assert mine.list_namespaces() == [(group, "ada")]
        assert mine.get((other, "ada"), "food") is None
        mine.delete((other, "ada"), "food")
        with pytest.raises(NotFound, match=f"There is no group '{other}'"):
            mine.put((other, "ada"), "food", {"text": "stolen"})
    assert by_label.get((other, "ada"), "food") is not None


def test_what_waits_for_a_curator_is_said(
    server: Any, group: str, store: LociStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.put(PLACE, "old", {"text": "Ada likes pizza."})
    server.manage("group", "update", group, "--policy", "all")
    with caplog.at_level(logging.WARNING):
        store.put(PLACE, "old", {"text": "Ada likes soup."})
        store.put(PLACE, "new", {"text": "Ada likes rice."})
    assert [record.message.count("waits in Loci's Review") for record in caplog.records] == [1, 1]
    assert store.get(PLACE, "old").value == {"text": "Ada likes pizza."}
    assert store.get(PLACE, "new") is None
    assert {item.key for item in store.search(PLACE)} == {"old"}
    server.approve_all(group)
    assert store.get(PLACE, "old").value == {"text": "Ada likes soup."}
    assert store.get(PLACE, "new").value == {"text": "Ada likes rice."}


def test_secrets_are_masked_and_never_an_address(server: Any, group: str, store: LociStore) -> None:
    store.put(PLACE, "key", {"text": "It is AKIAIOSFODNN7EXAMPLE.", "n": 1})
    assert "AKIAIOSFODNN7EXAMPLE" not in str(store.get(PLACE, "key").value)
    assert store.get(PLACE, "key").value["n"] == 1
    store.put(PLACE, "ab", {"n": 1})
    for key in ("AKIAIOSFODNN7EXAMPLE", "a\u200bb") * 2:
        with pytest.raises(ValueError, match="does not store the address"):
            store.put(PLACE, key, {"n": 2})
    assert {item.key: item.value.get("n") for item in store.search(PLACE)} == {"key": 1, "ab": 1}


def test_an_item_expires_unless_it_is_read(server: Any, group: str) -> None:
    store = LociStore(server.loci, group=group, ttl={"default_ttl": 60, "refresh_on_read": True})
    store.put(PLACE, "hour", {"n": 1})
    store.put(PLACE, "ever", {"n": 2}, ttl=None)

    def end(key: str) -> datetime | None:
        [row] = [row for row in memories(server, group) if row.metadata["langgraph"]["key"] == key]
        return row.expires_at and datetime.fromisoformat(row.expires_at)

    def move_end(at: datetime) -> None:
        [row] = [row for row in memories(server, group) if row.metadata["langgraph"]["key"] == "hour"]
        server.loci.edit_memory(row.id, expires_at=at)

    first = end("hour")
    assert first is not None
    assert timedelta(minutes=59) < first - datetime.now(UTC) <= timedelta(minutes=60)
    assert end("ever") is None
    store.get(PLACE, "hour")
    assert end("hour") == first  # nearly all of its time is left
    for read in (
        lambda: store.get(PLACE, "hour"),
        lambda: store.search(PLACE),
        lambda: store.search(PLACE, filter={"n": 1}),
    ):
        move_end(datetime.now(UTC) + timedelta(minutes=20))
        assert read()
        assert end("hour") > first
    move_end(soon := datetime.now(UTC) + timedelta(minutes=20))
    assert store.get(PLACE, "hour", refresh_ttl=False) is not None
    assert end("hour") == soon
    move_end(datetime.now(UTC) - timedelta(seconds=1))
    assert store.get(PLACE, "hour") is None
    assert {item.key for item in store.search(PLACE)} == {"ever"}
    assert {item.key for item in store.search(PLACE, query="n")} <= {"ever"}
    store.put(PLACE, "hour", {"n": 1})
    assert store.get(PLACE, "hour").value == {"n": 1}


def test_writers_of_one_item_leave_one_item(server: Any, group: str, store: LociStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        [*pool.map(lambda number: store.put(PLACE, "food", {"number": number}), range(24))]
    [row] = memories(server, group)
    assert store.get(PLACE, "food").value["number"] in range(24)
    assert len(server.loci.read_memory(row.id, versions=True).versions) == 24


def test_what_compaction_puts_behind_a_summary_is_read_as_before(
    server: Any, group: str, store: LociStore
) -> None:
    values = {
        f"k{day}": {
            "text": f"On day {day} the team deployed service {day}." + " It went well." * 9,
            "day": day,
        }
        for day in range(9)
    }
    for key, value in values.items():
        store.put(PLACE, key, value)
    for row in memories(server, group):
        server.loci.edit_memory(row.id, valid_from="2026-02-03T10:00:00Z")
    server.manage("compact", "--group", group)
    rows = server.loci.every(calls.list_all_memories, group=group, state=["live"])
    assert any(row.summary is not None for row in rows)
    found = store.search(PLACE, query="Which service was deployed on day 7?", limit=9)
    assert found[0].key == "k7"
    assert all(item.value == values[item.key] for item in found)
    assert {item.key: item.value for item in store.search(PLACE)} == values
    store.put(PLACE, "k7", {"day": 70})
    assert store.get(PLACE, "k7").value == {"day": 70}


def test_many_items_are_read_in_pages(store: LociStore) -> None:
    for number in range(120):
        store.put(PLACE, f"k{number}", {"number": number})
    assert len(store.search(PLACE, limit=200)) == 120
    assert [item.key for item in store.search(PLACE, filter={"number": {"$lt": 1}})] == ["k0"]


def test_a_refusal_has_the_servers_sentence(store: LociStore) -> None:
    with pytest.raises(LociError, match="characters; at most"):
        store.put(PLACE, "huge", {"text": "x" * 1_000_000})


def test_the_quickstart_runs(server: Any, run_quickstart: Callable[..., str]) -> None:
    printed = run_quickstart("langgraph-store").splitlines()
    assert printed[0] == "{'text': 'Ada likes pizza with anchovies'}"
    assert printed[1].startswith("food ")
