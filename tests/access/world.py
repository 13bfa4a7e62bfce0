"""The data of the matrix: two groups with one object of each kind, and a token for each kind of caller."""

import uuid
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from access.actor import ADMIN, ALL_SCOPES, CURATE, READ, WRITE
from access.audit import append
from access.audit.operations import Operation
from access.groups import create_group
from access.models import ApiToken, AuditEntry, Group, Membership, RowChange
from access.tokens import operator, revoke_token
from maintenance.cycle.recorder import step_change
from maintenance.models import Run
from memories.browse.recalls import recall_id
from memories.draft import Draft
from memories.lifecycle.verbs import forget, retract
from memories.models import Link, LinkKind, Memory, RecallLog, Thread, Tombstone
from memories.sessions.checkpoints import save_checkpoint
from memories.store import store
from relations.models import Relation
from sources.models import Artifact, Chunk, FileKind, Upload
from tests.people import make_token

ROLES = ("admin", "curator", "contributor", "viewer")  # in `ledger`; the user is named like the role
SINGLE = {"only-read": READ, "only-write": WRITE, "only-curate": CURATE, "only-admin": ADMIN}
CSRF = "c" * 32
DEAD = ("expired", "revoked", "unknown", "inactive", "nobody")
# Stands in every text of the foreign group, and nowhere else.
MARKER = "zanzibarine"

Place = dict[str, str]


@dataclass(frozen=True)
class World:
    """The people, a secret for each caller and the objects at each place."""

    users: dict[str, User]
    secrets: dict[str, str]
    places: dict[str, Place]
    sessions: dict[str, str]

    def browser(self, name: str) -> Client:
        """A browser in which this person is logged in, with the page's CSRF token in its cookie."""
        client = Client(raise_request_exception=False, enforce_csrf_checks=True)
        client.cookies[settings.SESSION_COOKIE_NAME] = self.sessions[name]
        client.cookies["csrftoken"] = CSRF
        return client

    def secrets_of(self, caller: str) -> list[str]:
        """The secrets to try for a column: one, or every dead one."""
        return [self.secrets[name] for name in DEAD] if caller == "dead" else [self.secrets[caller]]


def make_world() -> World:
    users = {"owner": User.objects.create_superuser("owner", password="a-long-password")}
    ledger, garden = create_group(operator(), "ledger"), create_group(operator(), "garden")
    for name in (*ROLES, "stranger", "inactive"):
        users[name] = User.objects.create_user(name)
    for role in ROLES:
        Membership.objects.create(user=users[role], group=ledger, role=role)
    Membership.objects.create(user=users["inactive"], group=ledger, role="admin")
    places = {"own": _fill(ledger, "ordinary"), "foreign": _fill(garden, MARKER)}
    shared = _memory(garden, "The bell rings at noon everywhere.", scope="global")
    other = _memory(garden, "The bell is made of bronze.", scope="global")
    places["global"] = (
        places["foreign"]
        | {"memory": str(shared.id), "other": str(other.id)}
        | _set_aside(garden, "", scope="global")
    )
    places["own"]["upload"] = _upload(users["curator"], "ordinary")
    places["foreign"]["upload"] = _upload(users["owner"], MARKER)
    secrets = _secrets(users, garden)
    for place, name in (("own", "curator"), ("foreign", "owner")):
        places[place]["token"] = str(ApiToken.objects.get(name=name).id)
        entry = AuditEntry.objects.filter(memory_id=places[place]["memory"]).earliest("key")
        places[place]["entry"] = entry.name
    places["missing"] = _nothing(places["own"])
    return World(users, secrets, places, {name: _log_in(user) for name, user in users.items()})


def _log_in(user: User) -> str:
    """The cookie of a new session."""
    client = Client()
    client.force_login(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def _secrets(users: dict[str, User], garden: Group) -> dict[str, str]:
    everything = sorted(ALL_SCOPES)
    made = {
        name: make_token(users[name], name=name, scopes=everything)[1]
        for name in ("owner", *ROLES, "stranger", "inactive")
    }
    User.objects.filter(username="inactive").update(is_active=False)
    chief = users["admin"]
    for name, scope in SINGLE.items():
        made[name] = make_token(chief, name=name, scopes=[scope])[1]
    made["elsewhere"] = make_token(chief, name="elsewhere", scopes=everything, groups=[garden])[1]
    gone, made["revoked"] = make_token(chief, name="revoked", scopes=everything)
    revoke_token(operator(), gone)
    late, made["expired"] = make_token(chief, name="expired", scopes=everything)
    ApiToken.objects.filter(pk=late.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    return made | {"unknown": "loci_" + "x" * 43, "nobody": ""}


def _fill(group: Group, word: str) -> Place:
    """One object of each kind in a group."""
    memory = _memory(group, f"The {word} gate opens at seven.")
    other = _memory(group, f"The {word} wall is of stone and two metres high.")
    wrong = _memory(group, f"The {word} roof leaks.")
    retract(operator(), wrong.id, reason=f"{word} roof was mended")
    waiting = _memory(group, f"The {word} lamp burns all night.")
    Memory.objects.filter(pk=waiting.pk).update(trust="candidate")
    save_checkpoint(operator(), group=group.slug, thread="", state=f"{word} work stands here")
    link = Link.objects.create(source=memory, target=other, kind=LinkKind.DUPLICATE)
    run = Run.objects.create(
        kind="cleanup", status="done", group=group, actor=word, finished_at=timezone.now()
    )
    changed = RowChange.objects.create(
        change=step_change(run.id, "cleanup"),
        op="u",
        kept="memories_memory",
        row=other.pk,
        vals={"pinned": [True, False]},
    )
    said = {"run": str(run.id), "step": "cleanup", "changes": [0, changed.key]}
    batch = append(replace(operator(), run=run.id), Operation.CLEANUP, group=group.id, payload=said)
    tied = Relation.objects.create(subject=memory, predicate="part of", object=other, group=group)
    asked = RecallLog.objects.create(
        group=group,
        query=f"{word} question",
        at=timezone.now(),
        actor=word,
        via="rest",
        mode="hybrid",
        duration_ms=1.0,
    )
    return (
        {
            "group": group.slug,
            "memory": str(memory.id),
            "other": str(other.id),
            "candidate": str(waiting.id),
            "proposal": _proposal(group, word),
            "tombstone": str(Tombstone.objects.get(group=group).id),
            "run": str(run.id),
            "batch": batch.name,
            "link": str(link.id),
            "relation": str(tied.id),
            "recall": str(asked.pk),
            "logged": recall_id(asked),
            "group_id": str(group.id),
            "conversation": _conversation(group, word, "open"),
            "deleted": _conversation(group, word, "gone", deleted_at=timezone.now()),
        }
        | _set_aside(group, word)
        | _file(group, word)
    )


def _file(group: Group, word: str) -> Place:
    """A file as evidence and its chunk, written past the search's indexes, which SQLite alone has."""
    kind, text = FileKind.TEXT, f"The {word} bell tower has a stork's nest."
    artifact = Artifact.objects.create(
        group=group, source=word, path=f"{word}.txt", kind=kind, size=1, digest=""
    )
    chunk = Chunk.objects.create(
        artifact=artifact, group=group, words=8, tokens=9, start_line=1, end_line=1, locator=f"{word}.txt#L1@0",
        text_hash=word, content=text,
    )  # fmt: skip
    return {"artifact": str(artifact.id), "chunk": str(chunk.id)}


def _conversation(group: Group, word: str, name: str, **fields: Any) -> str:
    """A conversation that a site has."""
    title = f"The {word} talk"
    made = Thread.objects.create(
        group=group, name=f"{word} {name}", title=title, platform="claude.ai", **fields
    )
    return str(made.id)


def _proposal(group: Group, word: str) -> str:
    """A proposal by an agent to forget a verified memory."""
    memory = _memory(group, f"The {word} bell has a crack.")
    Memory.objects.filter(pk=memory.pk).update(trust="verified")
    done = forget(replace(operator(), is_person=False), memory.id, reason=f"{word} bell was recast")
    return str(done.proposal)


def _set_aside(group: Group, word: str, *, scope: str = "group") -> Place:
    """A forgotten memory and a pinned one."""
    forgotten = _memory(group, f"The {word} cellar is dry in summer.", scope=scope)
    Memory.objects.filter(pk=forgotten.pk).update(state="forgotten", retired_at=timezone.now())
    pinned = _memory(group, f"The {word} stairs have forty steps.", scope=scope)
    Memory.objects.filter(pk=pinned.pk).update(pinned=True)
    return {"forgotten": str(forgotten.id), "pinned": str(pinned.id)}


def _upload(user: User, word: str) -> str:
    made = Upload.objects.create(
        user=user, name=f"{word}.jsonl", size=1, source=word, scope="group", state="done"
    )
    return str(made.id)


def _nothing(place: Place) -> Place:
    """Names of the same form that no object has."""
    unknown = {name: "99999" if id_.isdigit() else str(uuid.UUID(int=7)) for name, id_ in place.items()}
    return unknown | {"group": "nowhere", "logged": recall_id(RecallLog(pk=2**40))}


def _memory(group: Group, content: str, *, scope: str = "group") -> Memory:
    made = store(operator(), Draft(content, group=group.slug, scope=scope)).memory
    assert made is not None
    return made
