"""A person's export has all that is theirs, nothing of others, and no secret."""

import json
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management.base import CommandError

from access.errors import NotPermitted
from access.models import ApiToken, AuditEntry, Group
from access.tokens import operator
from memories.browse.recalls import visible_recalls
from memories.models import RecallLog
from memories.recall import RecallRequest, recall
from memories.recall_log import COUNTER
from sources.personal.erase import preview_erasure
from sources.personal.export import export_person
from tests.memories.builders import kept
from tests.people import agent, person
from tests.sources.personal.team import ALONE, BUILT_ON, LOGIN, MAIL, SAVED, TURNS, fill, read_zip, run

pytestmark = [pytest.mark.django_db, pytest.mark.model]
OTHERS = ("Bob waters the plants on Fridays.", "Tea is at four.", "8082", "When is tea?", "bob", "Payments")


@pytest.fixture
def who(alice: User, bob: User, ledger: Group, garden: Group) -> User:
    return fill(alice, bob, ledger, garden)


def zip_of(who: User) -> dict[str, str]:
    out = BytesIO()
    export_person(person(who), who, out)
    return read_zip(out.getvalue())


def test_all_that_a_person_wrote_is_in_it_and_nothing_of_others(who: User) -> None:
    files = zip_of(who)
    whole = "".join(files.values())
    wanted = (
        *ALONE,
        *BUILT_ON,
        *TURNS,
        SAVED,
        "Feeding wombatlings",
        "Which port has staging?",
        MAIL,
        "it is at five",
        "dark",
        "laptop",
    )
    assert [text for text in wanted if text not in whole] == []
    assert [text for text in OTHERS if text in whole] == []
    rows = {
        name: [json.loads(line) for line in text.splitlines()]
        for name, text in files.items()
        if name.endswith(".jsonl")
    }
    assert {line["row"]["author_name"].partition("/")[0] for line in rows["memories.jsonl"]} == {LOGIN}
    assert {line["row"]["actor"].partition("/")[0] for line in rows["log.jsonl"]} == {LOGIN}
    for name in files.keys() - {"README.txt"}:
        assert name in files["README.txt"]


def test_no_secret_is_in_it(who: User) -> None:
    whole = "".join(zip_of(who).values())
    for token in ApiToken.objects.filter(user=who):
        assert token.name in whole
        assert token.hint not in whole
        assert token.token_hash not in whole
    assert who.password not in whole


def test_conversations_can_be_read_as_text(who: User) -> None:
    text = zip_of(who)["conversations.md"]
    assert text.index("# Feeding wombatlings") < text.index(TURNS[0]) < text.index(TURNS[1])


def test_a_login_in_other_letters_is_another_person(who: User) -> None:
    other = User.objects.create_user(LOGIN.upper())
    kept(replace(operator(), name=f"{LOGIN.upper()}/laptop"), "The lamp is green.", group="ledger")
    kept(replace(operator(), name=other.username, user_id=other.pk), "The lamp is red.", group="ledger")
    recall(
        replace(agent(other), all_groups=True), RecallRequest("Which colour has the lamp?", group="ledger")
    )
    COUNTER.flush()
    whole = "".join(zip_of(who).values())
    assert [word for word in (LOGIN.upper(), "lamp") if word in whole] == []
    plan = preview_erasure(operator(), who, on_done=lambda _: None)
    assert (plan.destroyed.memories, plan.destroyed.recalls) == (len(ALONE) + len(TURNS), 1)
    seen = RecallLog.objects.filter(visible_recalls(person(who))).values_list("actor", flat=True)
    assert {name.partition("/")[0] for name in seen} == {LOGIN}


def test_only_the_person_and_an_admin_of_all_may_export(who: User, alice: User, bob: User) -> None:
    for actor in (person(bob), agent(who, name="again", scopes=("read", "write"))):
        with pytest.raises(NotPermitted):
            export_person(actor, who, BytesIO())
    for actor in (person(alice), operator(), person(who)):
        export_person(actor, who, BytesIO())
    assert AuditEntry.objects.filter(operation="export", subject=f"user:{LOGIN}").count() == 3


def test_the_command_writes_a_new_file(who: User, tmp_path: Path) -> None:
    file = tmp_path / "data.zip"
    assert run("export", LOGIN, "--to", str(file))["counts"]["person"] == 1
    assert ALONE[0] in read_zip(file.read_bytes())["memories.jsonl"]
    with pytest.raises(CommandError, match="already exists"):
        run("export", LOGIN, "--to", str(file))
