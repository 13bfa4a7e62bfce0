"""The client against a real server: typed answers, errors in the server's words, and writes that are written once."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

import pytest
from loci_team_memory_client import (
    AsyncLoci,
    Conflict,
    InvalidInput,
    Loci,
    LociError,
    NotAuthenticated,
    NotFound,
    NotPermitted,
    Unavailable,
    calls,
)

TEXT = "The ledger runs on PostgreSQL 16."


def in_both(server: Any, call: Callable[[Any], Any]) -> list[Any]:
    """What the call answers through each client."""

    async def ask() -> Any:
        async with AsyncLoci(server.url, server.token) as loci:
            answer = call(loci)
            return await answer if isinstance(answer, Awaitable) else answer

    return [call(server.loci), asyncio.run(ask())]


def test_both_clients_answer_the_same(server: Any, group: str) -> None:
    id_ = server.loci.store_memory(TEXT, group=group, tags=["db"]).id
    one, other = in_both(server, lambda loci: loci.read_memory(id_))
    assert one == other
    assert (one.content, one.group, one.tags, one.trust) == (TEXT, group, ["db"], "active")
    found = in_both(server, lambda loci: loci.recall_memories(query="Which database?", group=group))
    assert [answer.results[0].id for answer in found] == [id_, id_]


def test_lists_are_read_to_their_end(server: Any, group: str) -> None:
    texts = {f"Note {number} of the ledger." for number in range(5)}
    for text in texts:
        server.loci.store_memory(text, group=group, type="episodic")
    filters = {"group": group, "limit": 2}
    assert {row.content for row in server.loci.every(calls.list_all_memories, **filters)} == texts

    async def collect() -> set[str]:
        async with AsyncLoci(server.url, server.token) as loci:
            return {row.content async for row in loci.every(calls.list_all_memories, **filters)}

    assert asyncio.run(collect()) == texts


def test_what_is_left_out_stays_and_null_clears(server: Any, group: str) -> None:
    loci = server.loci
    id_ = loci.store_memory(TEXT, group=group, expires_at="2099-01-01").id
    assert loci.edit_memory(id_, tags=["db"]).memory.expires_at is not None
    assert loci.edit_memory(id_, expires_at=None).memory.expires_at is None


def test_a_write_is_taken_back(server: Any, group: str) -> None:
    loci = server.loci
    stored = loci.store_memory(TEXT, group=group)
    loci.undo_one_write(stored.undo)
    assert not [*loci.every(calls.list_all_memories, group=group)]


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (InvalidInput, lambda loci: loci.read_memory("nonsense")),
        (InvalidInput, lambda loci: loci.store_memory("", group="ledger")),
        (NotFound, lambda loci: loci.read_memory("0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f")),
        (NotPermitted, lambda loci: loci.run_maintenance(kind="cleanup")),
    ],
)
def test_errors_have_the_servers_sentence_and_hint(
    server: Any, kind: type[LociError], call: Callable[[Any], Any]
) -> None:
    for ask in (lambda: call(server.loci), lambda: in_both(server, call)):
        with pytest.raises(kind) as raised:
            ask()
        error = raised.value
        assert error.message
        assert error.code
        assert str(error) == " ".join(filter(None, (error.message, error.hint)))


def test_a_stale_edit_is_a_conflict(server: Any, group: str) -> None:
    loci = server.loci
    id_ = loci.store_memory(TEXT, group=group).id
    loci.edit_memory(id_, content="The ledger runs on PostgreSQL 17.", version=1)
    with pytest.raises(Conflict) as raised:
        loci.edit_memory(id_, content="The ledger runs on PostgreSQL 18.", version=1)
    assert raised.value.field == "version"
    assert "Read it again" in raised.value.hint


def test_a_wrong_token_is_named_and_never_shown(server: Any) -> None:
    with (
        Loci(server.url, "loci_wrongwrongwrongwrongwrong") as loci,
        pytest.raises(NotAuthenticated) as raised,
    ):
        loci.list_groups()
    assert "wrongwrong" not in f"{loci!r} {raised.value} {raised.value.__dict__}"


def test_no_answer_is_said_after_the_retries() -> None:
    with (
        Loci("http://127.0.0.1:9", "loci_x", retries=1) as loci,
        pytest.raises(Unavailable, match="does not answer"),
    ):
        loci.list_groups()


def test_another_server_is_named(serving: Callable[..., Any]) -> None:
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>")

        def log_message(self, *_: object) -> None:
            pass

    with (
        serving(Other) as url,
        Loci(url) as loci,
        pytest.raises(LociError, match="is not a Loci of this version"),
    ):
        loci.list_groups()


def store_waiting(url: str, token: str, *text: str, **fields: Any) -> calls.StoredOut:
    with Loci(url, token) as loci:
        return loci.store_memory(*text, **fields)


def store_awaiting(url: str, token: str, *text: str, **fields: Any) -> calls.StoredOut:
    async def store() -> calls.StoredOut:
        async with AsyncLoci(url, token) as loci:
            return await loci.store_memory(*text, **fields)

    return asyncio.run(store())


@pytest.mark.parametrize("fault", ["no answer", "busy"])
@pytest.mark.parametrize("store", [store_waiting, store_awaiting])
def test_a_write_whose_answer_was_lost_is_written_once(
    server: Any, group: str, serving: Callable[..., Any], fault: str, store: Callable[..., Any]
) -> None:
    sent: list[tuple[str, str | None]] = []

    class LosesTheFirstAnswer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            target = HTTPConnection(urlsplit(server.url).netloc)
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            target.request("POST", self.path, body, headers)
            answer = target.getresponse()
            text = answer.read()
            target.close()
            sent.append((self.headers["Idempotency-Key"], answer.getheader("Idempotent-Replay")))
            if len(sent) == 1 and fault == "no answer":
                self.close_connection = True
                return
            self.send_response(503 if len(sent) == 1 else answer.status)
            self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    with serving(LosesTheFirstAnswer) as url:
        stored = store(url, server.token, TEXT, group=group, type="episodic")
    assert stored.outcome == "created"
    assert [replay for _, replay in sent] == [None, "true"]
    assert len({key for key, _ in sent}) == 1
    assert [row.id for row in server.loci.every(calls.list_all_memories, group=group)] == [stored.id]


def test_what_a_newer_server_adds_is_left_out() -> None:
    assert calls.SavedOut.model_validate(
        {"undo": None, "id": "1", "group": "g", "group_created": False, "thread": "", "created_at": "", "count": 1,
         "warning": "", "new": 1}
    ).count == 1  # fmt: skip


def test_it_needs_httpx_and_pydantic_alone() -> None:
    code = "import sys, loci_team_memory_client; print(*{n.split('.')[0] for n in sys.modules})"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert {"httpx", "pydantic"} <= {*loaded}
    assert not {"django", "loci_site", "storage", "memories", "anthropic", "langgraph"} & {*loaded}


def test_the_quickstart_runs(server: Any, run_quickstart: Callable[..., str]) -> None:
    server.loci.store_memory("The first of the group.", group="ledger")
    assert "We settled on PostgreSQL 16 for the ledger." in run_quickstart("python")
