"""What LangGraph's documentation says of a store, on LangGraph's own and on Loci."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore
from loci_team_memory_langgraph import LociStore

WORDS = ("food", "eat", "pizza", "deploy", "port", "server", "hiking", "mountains", "weekend", "likes")


def by_words(texts: list[str]) -> list[list[float]]:
    """Vectors for LangGraph's store: how often each word occurs."""
    counted = [
        Counter(text.lower().replace('"', " ").replace(".", " ").replace("?", " ").split()) for text in texts
    ]
    return [[float(words[word]) for word in WORDS] for words in counted]


@pytest.fixture(params=["InMemoryStore", "LociStore"])
def store(request: pytest.FixtureRequest) -> BaseStore:
    if request.param == "InMemoryStore":
        return InMemoryStore(index={"dims": len(WORDS), "embed": by_words})
    server = request.getfixturevalue("server")
    return LociStore(server.loci, group=request.getfixturevalue("group"))


DOCS = ("documents", "user123")


def keys(items: list[Any]) -> set[str]:
    return {item.key for item in items}


def test_an_item_is_put_read_replaced_and_deleted(store: BaseStore) -> None:
    assert store.get(DOCS, "report1") is None
    store.put(
        DOCS,
        "report1",
        {"title": "Plan", "pages": 3, "tags": ["a", "b"], "draft": False, "by": {"name": "Ada"}},
    )
    item = store.get(DOCS, "report1")
    assert item is not None
    assert item.value == {
        "title": "Plan",
        "pages": 3,
        "tags": ["a", "b"],
        "draft": False,
        "by": {"name": "Ada"},
    }
    assert (item.namespace, item.key) == (DOCS, "report1")
    assert item.created_at.tzinfo is not None
    assert item.updated_at >= item.created_at
    store.put(DOCS, "report1", {"title": "Plan", "pages": 4})
    assert store.get(DOCS, "report1").value == {"title": "Plan", "pages": 4}
    store.delete(DOCS, "report1")
    assert store.get(DOCS, "report1") is None
    store.delete(DOCS, "report1")  # a second time is not an error


@pytest.mark.parametrize(
    "value",
    [
        {"text": "one text"}, {"memory": "A text\nof two lines"}, {"text": ""}, {"text": "  spaced  "}, {}, {"n": 1.5},
        {"nothing": None}, {"text": "ünïcode 記憶 🙂"}, {"text": '{"looks": "like JSON"}'}, {"a": [1, {"b": [True]}]},
    ],
)  # fmt: skip
def test_a_value_is_read_as_it_was_put(store: BaseStore, value: dict[str, Any]) -> None:
    store.put(DOCS, "it", value)
    assert store.get(DOCS, "it").value == value


def test_a_deleted_item_can_be_put_again(store: BaseStore) -> None:
    for value in ({"text": "first"}, {"text": "first"}, {"text": "second"}, {"text": "first"}):
        store.put(DOCS, "it", value)
        assert store.get(DOCS, "it").value == value
        store.delete(DOCS, "it")
        assert store.get(DOCS, "it") is None


def test_items_with_the_same_value_stay_apart(store: BaseStore) -> None:
    for place, key in ((DOCS, "one"), (DOCS, "two"), (("documents", "user456"), "one")):
        store.put(place, key, {"text": "Ada likes pizza"})
    store.put(DOCS, "one", {"text": "Ada likes soup"})
    assert store.get(DOCS, "two").value == {"text": "Ada likes pizza"}
    assert store.get(("documents", "user456"), "one").value == {"text": "Ada likes pizza"}
    assert len(store.search(("documents",))) == 3


def test_keys_and_labels_are_told_apart_exactly(store: BaseStore) -> None:
    long = "x" * 200
    places = [(("a", "b"), "c"), (("A", "b"), "c"), (("a", "b"), "C"), (("a",), "b"), (("a", "b c"), "c"), (("a", "b  c"), "c"),
              (("a",), long), (("a",), long + "y"), (("a", "ada@example:com"), "/x/?&=#%"), (tuple("n" * 31), "deep")]  # fmt: skip
    for number, (namespace, key) in enumerate(places):
        store.put(namespace, key, {"number": number})
    assert [store.get(namespace, key).value["number"] for namespace, key in places] == [*range(len(places))]
    assert len(store.search(("A",))) == 1
    assert len(store.search(("a", "b c"))) == 1


def test_a_search_finds_what_is_below_a_prefix(store: BaseStore) -> None:
    for namespace in (
        ("docs",),
        ("docs", "a"),
        ("docs", "a", "x"),
        ("docs", "b"),
        ("docsx",),
        ("other", "docs"),
    ):
        store.put(namespace, "/".join(namespace), {"at": [*namespace]})
    assert keys(store.search(("docs",))) == {"docs", "docs/a", "docs/a/x", "docs/b"}
    assert keys(store.search(("docs", "a"))) == {"docs/a", "docs/a/x"}
    assert len(store.search(())) == 6
    assert store.search(("nothing",)) == []


def test_a_search_filters(store: BaseStore) -> None:
    store.put(
        DOCS, "a", {"type": "article", "score": 4.5, "meta": {"lang": "en", "year": 2020}, "tags": ["x"]}
    )
    store.put(
        DOCS, "b", {"type": "article", "score": 5, "meta": {"lang": "de", "year": 2024}, "tags": ["x", "y"]}
    )
    store.put(DOCS, "c", {"type": "note", "score": 1, "meta": {"lang": "en", "year": 2022}, "tags": []})
    for wanted, found in (
        ({"type": "article"}, {"a", "b"}),
        ({"type": {"$eq": "note"}}, {"c"}),
        ({"type": {"$ne": "note"}}, {"a", "b"}),
        ({"score": {"$gt": 4.5}}, {"b"}),
        ({"score": {"$gte": 4.5}}, {"a", "b"}),
        ({"score": {"$lt": 4.5}}, {"c"}),
        ({"score": {"$lte": 4.5}}, {"a", "c"}),
        ({"score": {"$gte": 1, "$lt": 5}}, {"a", "c"}),
        ({"type": "article", "score": {"$gte": 5}}, {"b"}),
        ({"meta": {"lang": "en"}}, {"a", "c"}),
        ({"meta": {"year": {"$gt": 2021}}}, {"b", "c"}),
        ({"tags": ["x", "y"]}, {"b"}),
        ({"missing": "x"}, set()),
    ):
        assert keys(store.search(DOCS, filter=wanted)) == found, wanted
    with pytest.raises(ValueError, match="Unsupported operator"):
        store.search(DOCS, filter={"type": {"$like": "x"}})


def test_a_search_pages(store: BaseStore) -> None:
    for number in range(12):
        store.put(DOCS, f"k{number}", {"number": number, "even": number % 2 == 0})
    assert len(store.search(DOCS)) == 10
    pages = [store.search(DOCS, limit=5, offset=offset) for offset in (0, 5, 10)]
    assert [len(page) for page in pages] == [5, 5, 2]
    assert len(set.union(*map(keys, pages))) == 12
    evens = [store.search(DOCS, filter={"even": True}, limit=4, offset=offset) for offset in (0, 4)]
    assert [len(page) for page in evens] == [4, 2]


def test_a_search_by_meaning_ranks(store: BaseStore) -> None:
    store.put(DOCS, "food", {"text": "Ada likes pizza as food to eat."})
    store.put(DOCS, "port", {"text": "The deploy port of the server is 8443."})
    store.put(DOCS, "hobby", {"text": "On the weekend she goes hiking in the mountains."})
    store.put(("other",), "food", {"text": "Bob likes pizza as food to eat."})
    [first, *_] = store.search(DOCS, query="What food does Ada like to eat?")
    assert (first.key, first.namespace) == ("food", DOCS)
    assert first.score is not None
    assert store.search(DOCS, query="On which port does the server deploy?")[0].key == "port"
    scores = [item.score for item in store.search(DOCS, query="food to eat")]
    assert scores == sorted(scores, reverse=True)
    filtered = store.search(
        ("documents",), query="food to eat", filter={"text": {"$ne": first.value["text"]}}
    )
    assert "food" not in keys(filtered)
    assert len(store.search(DOCS, query="food to eat", limit=1)) == 1


def test_an_item_without_index_is_read_and_listed(store: BaseStore) -> None:
    store.put(DOCS, "quiet", {"text": "Ada likes pizza as food to eat."}, index=False)
    store.put(DOCS, "other", {"text": "Eve likes pizza as food to eat."}, index=["text"])
    assert store.get(DOCS, "quiet") is not None
    assert keys(store.search(DOCS)) == {"quiet", "other"}
    assert store.search(DOCS, query="What food does Ada eat?")[0].key == "other"


def test_namespaces_are_listed(store: BaseStore) -> None:
    for namespace in (
        ("a", "b", "c"),
        ("a", "b", "d", "e"),
        ("a", "b", "d", "i"),
        ("a", "b", "f"),
        ("a", "c", "f"),
    ):
        store.put(namespace, "it", {"x": 1})
    assert store.list_namespaces(prefix=("a", "b"), max_depth=3) == [
        ("a", "b", "c"),
        ("a", "b", "d"),
        ("a", "b", "f"),
    ]
    assert store.list_namespaces(suffix=("f",)) == [("a", "b", "f"), ("a", "c", "f")]
    assert store.list_namespaces(prefix=("a", "*", "f")) == [("a", "b", "f"), ("a", "c", "f")]
    assert store.list_namespaces(suffix=("d", "*")) == [("a", "b", "d", "e"), ("a", "b", "d", "i")]
    assert store.list_namespaces(prefix=("a", "b"), suffix=("f",)) == [("a", "b", "f")]
    assert store.list_namespaces(max_depth=1) == [("a",)]
    assert len(store.list_namespaces(limit=2)) == 2
    assert store.list_namespaces(limit=2, offset=4) == [("a", "c", "f")]
    assert store.list_namespaces(prefix=("z",)) == []


@pytest.mark.parametrize("namespace", [(), ("",), ("a", ""), ("a.b",), ("langgraph", "x")])
def test_a_namespace_that_is_not_allowed_is_refused(store: BaseStore, namespace: tuple[str, ...]) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "key", {"x": 1})


def operations() -> list[Any]:
    return [
        PutOp(DOCS, "one", {"n": 1}), GetOp(DOCS, "one"), GetOp(DOCS, "old"), SearchOp(("documents",), {"n": 0}),
        PutOp(DOCS, "two", {"n": 2}), PutOp(DOCS, "two", {"n": 3}), PutOp(DOCS, "old", None),
        ListNamespacesOp((MatchCondition("prefix", ("documents",)),)),
    ]  # fmt: skip


def check_batch(results: list[Any], store: BaseStore) -> None:
    """Reads see what was there before the batch; the last of several writes counts."""
    assert [results[place] for place in (0, 1, 4, 5, 6)] == [None] * 5
    assert results[2].value == {"n": 0}
    assert keys(results[3]) == {"old"}
    assert results[7] == [DOCS]
    assert store.get(DOCS, "one").value == {"n": 1}
    assert store.get(DOCS, "two").value == {"n": 3}
    assert store.get(DOCS, "old") is None


def test_a_batch_reads_first_then_writes(store: BaseStore) -> None:
    store.put(DOCS, "old", {"n": 0})
    check_batch(store.batch(operations()), store)


def test_a_batch_is_awaited(store: BaseStore) -> None:
    store.put(DOCS, "old", {"n": 0})
    check_batch(asyncio.run(store.abatch(operations())), store)


async def test_every_method_is_awaited(store: BaseStore) -> None:
    await store.aput(DOCS, "one", {"text": "Ada likes pizza as food."})
    await asyncio.gather(*(store.aput(DOCS, f"n{number}", {"n": number}) for number in range(5)))
    assert (await store.aget(DOCS, "one")).value == {"text": "Ada likes pizza as food."}
    assert (await store.asearch(DOCS, query="Which food does Ada like?"))[0].key == "one"
    assert len(await store.asearch(DOCS, filter={"n": 3})) == 1
    assert await store.alist_namespaces(prefix=("documents",)) == [DOCS]
    await store.adelete(DOCS, "one")
    assert await store.aget(DOCS, "one") is None
