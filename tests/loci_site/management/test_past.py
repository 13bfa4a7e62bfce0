"""recall and inspect about the past, from the command line."""

import json

import pytest
from django.contrib.auth.models import User

from access.models import Group
from memories.models import Memory
from tests.loci_site.management.conftest import Run
from tests.memories.builders import NOW, day, row

pytestmark = pytest.mark.django_db
OLD = "superseded: was true until 2026-04-26"
BEFORE = "2026-04-24"


@pytest.fixture
def chain(alice: User, ledger: Group, monkeypatch: pytest.MonkeyPatch) -> tuple[Memory, Memory]:
    """A superseded version and its successor; the clock is at NOW."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    old = row(
        ledger,
        "The harbour master is Jonas.",
        created_at=day(-10),
        valid_from=day(-20),
        valid_to=day(-5),
        valid_to_known_at=day(-5),
        state="superseded",
    )
    new = row(
        ledger, "The harbour master is Ebba.", created_at=day(-5), valid_from=day(-5), root=old, version=2
    )
    Memory.objects.filter(pk=old.pk).update(superseded_by=new)
    return old, new


@pytest.mark.parametrize("option", ["--as-of", "--known-at"])
def test_the_version_of_then_is_shown_with_its_label(
    run: Run, chain: tuple[Memory, Memory], option: str
) -> None:
    old, new = chain
    ran = run("memory", "inspect", str(new.id), option, BEFORE, columns=300)
    assert ran.status == 0
    assert ran.out.startswith("The harbour master is Jonas.\n")
    facts = {line.split("  ")[0].strip(): line for line in ran.out.splitlines()}
    assert facts["label"].endswith(OLD)
    assert facts["current version"].endswith(str(new.id))
    assert (
        "true from 2026-04-11 12:00 UTC until 2026-04-26 12:00 UTC; known from 2026-04-21 12:00 UTC on"
    ) in ran.out
    said = json.loads(run("memory", "inspect", str(new.id), option, BEFORE, "--json").out)
    assert (said["memory"]["id"], said["memory"]["label"]) == (str(old.id), OLD)
    assert run("memory", "inspect", str(new.id), columns=300).out.startswith("The harbour master is Ebba.\n")


def test_recall_prints_the_label(run: Run, chain: tuple[Memory, Memory]) -> None:
    asked = ("recall", "harbour master", "--group", "ledger", "--mode", "keyword", "--as-of", BEFORE)
    ran = run(*asked, columns=200)
    assert ("Jonas" in ran.out, "Ebba" in ran.out, OLD in ran.out) == (True, False, True)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--known-at", "2026-05-02", "known_at is in the future"),
        ("--as-of", "soon", "'soon' in as_of is not a date."),
        ("--as-of", "2020-01-01", "No version of this memory was true at 2020-01-01 00:00 UTC."),
    ],
)
def test_a_wrong_moment_ends_in_an_error(
    run: Run, chain: tuple[Memory, Memory], option: str, value: str, message: str
) -> None:
    ran = run("memory", "inspect", str(chain[0].id), option, value)
    assert (ran.status, ran.out) == (1, "")
    assert message in ran.error
