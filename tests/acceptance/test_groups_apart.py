"""What other groups hold changes no answer, order, number, suggestion, list or page of a caller, on any face."""

import json
from contextlib import suppress
from functools import cache
from io import StringIO
from itertools import product
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from access.actor import Via
from access.groups.members import set_member
from access.models import Group
from access.tokens import actor_for_token, operator
from access.visibility import Visibility
from memories.embedding import get_encoder
from memories.models import IndexState, Memory, Piece
from memories.queries.visibility import RECALLED
from memories.recall_log import COUNTER
from memories.search.base import search_index
from memories.search.in_memory.table import Nearest, PieceRow, VectorTable
from memories.types import State
from tests.acceptance.steady_text import steady_text
from tests.examples import examples
from tests.loci_site.api.conftest import Caller
from tests.loci_site.mcp.people import Agent, text_of
from tests.memories.builders import NOW, row, unit_vector
from tests.people import alice, bob, garden, ledger, make_token

__all__ = ["alice", "bob", "garden", "ledger"]
# Few words, so that groups share them; some are one letter apart, for the spelling.
WORDS = (
    "deploy",
    "deployment",
    "deplyment",
    "port",
    "ports",
    "ledger",
    "4817",
    "Heron",
    "heron.py",
    "nightly",
    "端口",
)
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
# Whose a row is: the caller's group, everybody's, or a group that the caller may not enter.
OWN, GLOBAL, GLOBAL_ELSEWHERE, FOREIGN = range(4)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "whose": st.sampled_from([OWN, OWN, GLOBAL, GLOBAL_ELSEWHERE, FOREIGN, FOREIGN, FOREIGN]),
            "content": TEXTS,
            "state": st.sampled_from(["live", "live", "live", "retracted", "superseded"]),
            "trust": st.sampled_from(["active", "active", "verified", "candidate"]),
            "tags": st.lists(st.sampled_from(["red", "port"]), max_size=1),
        }
    ),
    min_size=2,
    max_size=14,
    unique_by=lambda fields: fields["content"],
)
# What differs between two calls, whatever is stored.
UNSTEADY = frozenset(
    {"duration_ms", "at", "next", "access_count", "last_accessed_at", "recalls_7_days", "schedule"}
)


@cache
def vector_of(text: str) -> bytes:
    """The text's vector, computed once for all examples."""
    vector: NDArray[np.float32] = get_encoder(timeout_s=60).encode([text])[0]
    return vector.astype("<f4").tobytes()


def add(groups: dict[int, Group], fields: dict[str, Any]) -> Memory:
    """Write a row with its vector."""
    fields = dict(fields)
    whose, content = fields.pop("whose"), fields.pop("content")
    scope = "group" if whose in (OWN, FOREIGN) else "global"
    memory = row(groups[whose], content, scope=scope, **fields)
    model = get_encoder(timeout_s=60).model_id
    IndexState.objects.get_or_create(name="model", defaults={"value": model})
    piece = {"ordinal": 0, "start": 0, "end": len(content), "tokens": 1}
    Piece.objects.create(memory=memory, embedding=vector_of(content), model=model, **piece)
    return memory


def steady(value: Any) -> Any:
    """A JSON value without what differs between two calls; of a cursor, whether there is one."""
    if isinstance(value, dict):
        kept = {key: steady(each) for key, each in value.items() if key not in UNSTEADY}
        return kept | ({"next": bool(value["next"])} if "next" in value else {})
    return [steady(each) for each in value] if isinstance(value, list) else value


def differences(one: Any, other: Any, place: str = "") -> list[str]:
    """Where two JSON values differ."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [found for key in one for found in differences(one[key], other[key], f"{place}/{key}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [found for at, pair in pairs for found in differences(*pair, f"{place}/{at}")]
    return [] if one == other else [f"{place}: {one} != {other}"]


def run_command(*arguments: str) -> Any:
    """The JSON answer of a command."""
    out = StringIO()
    with suppress(SystemExit):  # a recall that finds nothing relevant ends with a status of its own
        call_command(*arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


class TokenFaces:
    """Everything that a token can ask, over REST and MCP."""

    def __init__(self, member: User, **bounds: Any) -> None:
        token, secret = make_token(member, **bounds)
        self.rest, self.mcp = Caller(secret), Agent(actor_for_token(token, via=Via.MCP))

    def ask(self, query: str, typed: str) -> dict[str, Any]:
        """Every answer by the name of its question; the questions themselves leave no trace."""
        with transaction.atomic():
            answers = self._ask(query, typed)
            transaction.set_rollback(True)
        COUNTER._pending.clear()
        return answers

    def _ask(self, query: str, typed: str) -> dict[str, Any]:
        recalled = {"query": query, "explain": True, "max_results": 20}
        answers: dict[str, Any] = {
            f"rest {mode} {group}": self.rest.post("/recall", recalled | {"mode": mode, "group": group})
            for mode in ("hybrid", "keyword", "rrf")
            for group in ("ledger",)
        }
        for path in (
            f"/suggest?q={typed}", f"/suggest?q={typed}x", f"/suggest?q={typed}&by_meaning=true",
            "/memories?limit=3", f"/memories?q={typed}", "/stats?group=ledger", "/groups",
            "/review/candidates", "/review/links", f"/context?group=ledger&query={query}",
            "/log", "/recalls", "/conversations", "/memories?group=ledger&limit=3",
        ):  # fmt: skip
            answers[f"rest {path}"] = self.rest.get(path)
        answers["mcp recall"] = self.mcp.answer("recall_memory", query=query, group="ledger", explain=True)
        answers["mcp context"] = self.mcp.answer("get_context", query=query, group="ledger")
        answers["mcp stats"] = self.mcp.answer("memory_stats", group="ledger")
        return {name: steady(answer) for name, answer in answers.items()}


class Faces(TokenFaces):
    """Everything that a curator of one group can ask: as a token, with commands and on pages."""

    def __init__(self, member: User) -> None:
        super().__init__(member)
        self.browser = Client()
        self.browser.force_login(member)

    def _ask(self, query: str, typed: str) -> dict[str, Any]:
        answers = super()._ask(query, typed)
        answers["command recall"] = run_command("recall", query, "--group", "ledger", "--explain")
        for path in (
            "/admin/memories/memory/?mine=1", "/admin/", "/admin/memories/memory/", f"/admin/memories/memory/?q={typed}",
            "/admin/review/", f"/admin/ask/?q={query}", f"/admin/ask/?q={query}&group=ledger", "/admin/groups/",
            *(f"/admin/groups/ledger/{tab}" for tab in ("", "changes/", "asked/", "map/", "map/?view=time")),
        ):  # fmt: skip
            page = self.browser.get(path)
            assert page.status_code == 200, path
            answers[f"page {path}"] = steady_text(page.content.decode()).splitlines()
        return {name: steady(answer) for name, answer in answers.items()}


@pytest.mark.django_db
@pytest.mark.model
@settings(
    max_examples=examples(2),
    phases=(
        Phase.explicit,
        Phase.reuse,
        Phase.generate,
    ),  # each example asks for seconds: shrinking takes too long
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    rows=ROWS, later=ROWS, query=TEXTS, typed=st.sampled_from(["deploy", "deploimnt", "por", "herno", "端"])
)
def test_rows_of_other_groups_change_no_answer(
    bob: User, ledger: Group, garden: Group, rows: list[Any], later: list[Any], query: str, typed: str
) -> None:
    """Foreign rows lie between the own ones; then they go, and others come."""
    with transaction.atomic():
        groups = {OWN: ledger, GLOBAL: ledger, GLOBAL_ELSEWHERE: garden, FOREIGN: garden}
        set_member(operator(), ledger, user=bob, role="curator")
        faces = Faces(bob)
        foreign = [
            memory
            for fields, memory in [(each, add(groups, each)) for each in rows]
            if fields["whose"] == FOREIGN
        ]
        among = faces.ask(query, typed)
        Memory.objects.filter(key__in=[memory.key for memory in foreign]).delete()
        alone = faces.ask(query, typed)
        for fields in later:
            add(groups, fields | {"whose": FOREIGN})
        beside = faces.ask(query, typed)
        assert search_index().find_errors() == []
        transaction.set_rollback(True)
    assert differences(among, alone) == []
    assert differences(alone, beside) == []


@pytest.mark.django_db
@pytest.mark.model
@settings(
    max_examples=examples(2),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(rows=ROWS, query=TEXTS, typed=st.sampled_from(["deploy", "por", "herno", "端"]))
def test_global_rows_of_other_groups_change_no_answer_of_a_token_without_them(
    alice: User, bob: User, ledger: Group, garden: Group, rows: list[Any], query: str, typed: str
) -> None:
    """Whoever the token's owner is; and no foreign row is found by its id or shown where a text is stored."""
    with transaction.atomic():
        groups = {OWN: ledger, GLOBAL: ledger, GLOBAL_ELSEWHERE: garden, FOREIGN: garden}
        set_member(operator(), ledger, user=bob, role="curator")
        added = [(fields["whose"], add(groups, fields)) for fields in rows]
        foreign = [memory for whose, memory in added if whose in (GLOBAL_ELSEWHERE, FOREIGN)]
        scopes = ("read", "write", "curate")
        owned = [
            TokenFaces(user, scopes=scopes, groups=[ledger], include_global=False) for user in (alice, bob)
        ]
        among = [faces.ask(query, typed) for faces in owned]
        for faces, memory in product(owned, foreign):
            faces.rest.get(f"/memories/{memory.id}", status=404)
            faces.rest.get(f"/memories/{memory.id}/inspect", status=404)
            assert "not found" in faces.mcp.error("memory_inspect", id=str(memory.id))
            with transaction.atomic():
                stored = faces.mcp.call("store_memory", content=f"{memory.content} now", group="ledger")
                transaction.set_rollback(True)
            said = f"{text_of(stored)} {stored.structured_content}".replace("-", "")
            assert not [each.content for each in foreign if each.id.hex[-8:] in said]
        Memory.objects.filter(key__in=[memory.key for memory in foreign]).delete()
        alone = [faces.ask(query, typed) for faces in owned]
        transaction.set_rollback(True)
    assert [differences(*pair) for pair in zip(among, alone, strict=True)] == [[], []]


@settings(max_examples=examples(2), deadline=None)
@given(
    own=st.integers(1200, 2500),
    foreign=st.lists(st.integers(0, 3000), min_size=1, max_size=2),
    seed=st.integers(0, 99),
    exact_mb=st.sampled_from([0, 2, 96]),
)
def test_vectors_of_other_groups_change_no_neighbour(
    own: int, foreign: list[int], seed: int, exact_mb: int
) -> None:
    """Many enough that signs select the rows; with and without the vectors in memory."""
    seen = Visibility(frozenset({1}), True, frozenset({State.LIVE}), RECALLED, NOW)
    dice = np.random.default_rng(seed)
    vectors = dice.normal(size=(own, 384)).astype("<f4")
    answers = []
    for others in (0, *foreign):
        every = np.concatenate([vectors, dice.normal(size=(others, 384)).astype("<f4")])
        found = nearest_of(every, own, unit_vector(seed), seen, exact_mb=exact_mb)
        answers.append((found.memories.tolist(), found.cosines.round(4).tolist(), found.is_all))
    assert all(answer == answers[0] for answer in answers)


def nearest_of(
    every: NDArray[np.float32], own: int, vector: NDArray[np.float32], seen: Visibility, *, exact_mb: int
) -> Nearest:
    """The nearest of the first `own` rows in a table of all."""
    table = VectorTable(exact_mb=exact_mb)
    kind = ("group", "live", "active", "semantic", 2**62, 0)
    table.put(
        [
            PieceRow(at + 1, at + 1, 1 if at < own else 2, *kind, each.tobytes())
            for at, each in enumerate(every)
        ]
    )
    return table.nearest(vector, table.allowed(seen), wanted=75, read=lambda pieces: every[pieces - 1])
