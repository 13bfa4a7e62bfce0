"""Each person writes a number of times at once, a minute and a day, with all tokens; the database counts for all processes."""

import math
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from access.errors import TooManyWrites
from access.limits import throttle
from access.limits.throttle import check_write_rate, count_writes, left_of, write_limits
from access.models import Group, PersonWrites
from access.tokens import actor_for_secret, operator
from memories.draft import Draft
from memories.models import Memory
from memories.store import store
from memories.store.bulk import store_many
from tests.loci_site.api.conftest import Caller
from tests.loci_site.mcp.people import Agent
from tests.people import make_token

PER_MINUTE, BURST = 60, 5


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the clock of the write rate, in seconds."""
    at = [1000.0]
    monkeypatch.setattr(throttle, "now_us", lambda: round(at[0] * 1_000_000))

    def move(seconds: float) -> None:
        at[0] += seconds

    return move


@pytest.fixture(autouse=True)
def small_rate(settings: Settings, now: object) -> None:
    access = replace(settings.LOCI.access, writes_per_minute=PER_MINUTE, write_burst=BURST)
    settings.LOCI = replace(settings.LOCI, access=access)


def store_text(caller: Caller, number: int, *, status: int) -> dict[str, object]:
    answer: dict[str, object] = caller.store(
        f"The port of machine {number} is {8000 + number}.", status=status
    )
    return answer


def test_rest_refuses_with_the_time_to_wait_and_reads_go_on(
    bob: User, ledger: Group, now: Callable[[float], None]
) -> None:
    caller = Caller(make_token(bob)[1])
    for number in range(BURST):
        store_text(caller, number, status=201)
    error = store_text(caller, 99, status=429)
    assert (error["code"], error["message"]) == (
        "too_many_writes",
        "A person may write 60 times a minute, with all tokens together.",
    )
    assert "Try again in 1 seconds. Nothing was written." in str(error["hint"])
    body = {"content": "x y", "group": "ledger"}
    answer = caller.client.post(
        "/api/memories", body, "application/json", headers={"Authorization": f"Bearer {caller.secret}"}
    )
    assert (answer.status_code, answer["Retry-After"]) == (429, "1")
    assert caller.post("/recall", {"query": "port", "group": "ledger"})["results"]
    assert len(caller.get("/memories?group=ledger")["items"]) == BURST
    now(2.0)
    store_text(caller, 100, status=201)
    store_text(caller, 101, status=201)
    store_text(caller, 102, status=429)
    assert Memory.objects.count() == BURST + 2


def test_all_tokens_of_a_person_share_one_count(alice: User, bob: User, ledger: Group) -> None:
    callers = [Caller(make_token(bob, name=f"agent {number}")[1]) for number in range(BURST)]
    for number, caller in enumerate(callers):
        store_text(caller, number, status=201)
    store_text(callers[0], 50, status=429)
    store_text(Caller(make_token(bob, name="one more")[1]), 51, status=429)
    store_text(Caller(make_token(alice)[1]), 52, status=201)


def test_the_characters_of_a_day_are_counted_too(
    bob: User, ledger: Group, now: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throttle, "CHARS_A_DAY", 864)  # one each hundred seconds
    _, secret = make_token(bob)
    texts = [Draft(f"The port of machine {number}. " * 20, group="ledger") for number in range(3)]
    assert store_many(actor_for_secret(secret), texts).created == 3  # 1,500 characters
    now(120.0)  # the changes are paid back
    with pytest.raises(TooManyWrites, match="A person may write 864 characters a day") as refusal:
        check_write_rate(actor_for_secret(secret))
    now(refusal.value.wait_s - 100.0)
    with pytest.raises(TooManyWrites):
        check_write_rate(actor_for_secret(secret))
    now(100.0)
    check_write_rate(actor_for_secret(secret))


def test_an_agent_gets_a_tool_error(bob: User, ledger: Group) -> None:
    _, secret = make_token(bob)
    for number in range(BURST):
        Agent(actor_for_secret(secret)).answer(
            "store_memory", content=f"The port of machine {number} is {number}.", group="ledger"
        )
    agent = Agent(actor_for_secret(secret))
    told = agent.error("store_memory", content="One more.", group="ledger")
    assert told == (
        "A person may write 60 times a minute, with all tokens together. Try again in 1 seconds. Nothing was written. [too_many_writes]"
    )
    assert agent.answer("recall_memory", query="port", group="ledger")["results"]
    assert agent.answer("get_context", group="ledger")


def test_an_import_counts_each_row_and_is_paid_back(
    bob: User, ledger: Group, now: Callable[[float], None]
) -> None:
    _, secret = make_token(bob)
    texts = [Draft(f"The port of machine {number} is {number}.", group="ledger") for number in range(65)]
    assert store_many(actor_for_secret(secret), texts).created == 65
    assert left_of(actor_for_secret(secret)) == BURST - 65
    with pytest.raises(TooManyWrites) as refusal:
        check_write_rate(actor_for_secret(secret))
    assert refusal.value.wait_s == 61  # one more than is owed
    now(61.0)
    check_write_rate(actor_for_secret(secret))


def test_operators_and_people_have_no_limit(alice: User, ledger: Group) -> None:
    for number in range(3 * BURST):
        store(operator(), Draft(f"The port of machine {number} is {number}.", group="ledger"))
    assert left_of(operator()) == math.inf
    check_write_rate(operator())


def writes_left(written: PersonWrites) -> float:
    changes, _ = write_limits()
    return changes.left(written.burst_at)


def test_zero_means_no_limit(bob: User, ledger: Group, settings: Settings) -> None:
    settings.LOCI = replace(settings.LOCI, access=replace(settings.LOCI.access, writes_per_minute=0))
    caller = Caller(make_token(bob)[1])
    for number in range(2 * BURST):
        store_text(caller, number, status=201)
    assert not PersonWrites.objects.exists()


def test_it_refills_to_the_burst_and_no_further(now: Callable[[float], None]) -> None:
    assert writes_left(PersonWrites()) == BURST
    assert writes_left(PersonWrites(burst_at=1_003_000_000)) == BURST - 3  # whole again in three seconds
    now(1.5)
    assert writes_left(PersonWrites(burst_at=1_003_000_000)) == BURST - 1.5
    now(3600)
    assert writes_left(PersonWrites(burst_at=1_003_000_000)) == BURST


def test_a_write_costs_one_statement_by_key_and_a_read_none(bob: User, ledger: Group) -> None:
    caller = Caller(make_token(bob)[1])
    store_text(caller, 1, status=201)
    with CaptureQueriesContext(connection) as found:
        store_text(caller, 2, status=201)
        caller.post("/recall", {"query": "port", "group": "ledger"})
    counted = [query["sql"] for query in found if "burst_at" in query["sql"]]
    # Each call reads the token's row in any case.
    own = [sql for sql in counted if "token_hash" not in sql.split("WHERE")[0]]
    assert [sql.split()[0] for sql in own] == ["UPDATE"]


@pytest.mark.django_db(transaction=True)
def test_two_connections_share_one_count(bob: User, ledger: Group) -> None:
    _, secret = make_token(bob)
    actor = actor_for_secret(secret)

    def write(number: int) -> None:
        try:
            store(actor, Draft(f"The port of machine {number} is {number}.", group="ledger"))
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert writes_left(PersonWrites.objects.get()) == BURST - 4


def test_a_rolled_back_write_is_not_counted(bob: User, ledger: Group) -> None:
    _, secret = make_token(bob)
    actor = actor_for_secret(secret)
    texts = [Draft("The port is 8081.", group="ledger")]
    store_many(actor, texts, dry_run=True)
    assert left_of(actor_for_secret(secret)) == BURST
    count_writes(actor, 2, 0)
    assert writes_left(PersonWrites.objects.get()) == BURST - 2
