"""What no terminal should send: each command ends with a clear error, never with a traceback."""

import pytest

from access.models import Group
from memories.models import Memory
from tests.loci_site.management.conftest import Run

pytestmark = [pytest.mark.django_db, pytest.mark.model]
# Bytes that are no UTF-8 reach a command as halves of surrogate pairs.
HOSTILE = {
    "half": "a\udcff",
    "nul": "a\x00b",
    "5 MB": "x" * 5_000_000,
    "a heap of accents": "a" + "\u0301\u0316" * 40_000,
}
CALLS = [
    "remember HERE --group ledger",
    "remember x --group HERE",
    "remember x --group ledger --thread HERE",
    "remember x --group ledger --source HERE",
    "recall HERE --group ledger",
    "recall x --group HERE",
    "inspect HERE",
    "inspect ID --query HERE",
    "stats --group HERE",
    "group create HERE",
    "group create new --title HERE",
    "group show HERE",
    "group update ledger --title HERE",
    "group update ledger --instructions HERE",
]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("call", CALLS)
def test_a_command_says_what_is_wrong(run: Run, ledger: Group, call: str, text: str) -> None:
    run("remember", "The deploy port is 8081.", "--group", "ledger")
    given = {"HERE": text, "ID": str(Memory.objects.get().id)}
    said = run(*(given.get(word, word) for word in call.split()))
    assert said.status in (1, 2), said
    assert len(said.error) < 1000
    said.error.encode()
