"""A person's own data as a zip that is read without Loci: rows as an export has them, and conversations as text."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, Any, Final
from zipfile import ZIP_DEFLATED, ZipFile

from django.apps import apps
from django.contrib.auth.models import User
from django.db.models import Q
from django.utils.translation import gettext, gettext_lazy

from access import audit
from access.actor import Actor
from access.answers import Answer
from access.audit.operations import Operation
from access.errors import NotPermitted
from access.models import ApiToken, Identity, Membership, Preference
from memories.models import Feedback, Memory, Proposal, RecallLog
from memories.types import State
from sources.exporting import consistent_read
from sources.exporting.lines import CHUNK_ROWS, row_lines
from sources.format import CHECKPOINT, DOUBT, LOG, MEMORY, RELATION, THREAD, RecordKind
from sources.models import CapturedTurn, Upload
from sources.personal.own_rows import authored, named, own_threads


@dataclass(frozen=True)
class _DataFile:
    """A file of the zip: what it has, the kinds of its rows, and the condition that they are a person's."""

    file: str
    about: Any  # translated when it is written
    kinds: tuple[RecordKind, ...]
    whose: Callable[[User], Q]


def _by_user(user: User) -> Q:
    return Q(user=user)


def _by_actor(user: User) -> Q:
    return named(user, "actor")


# Of tokens no secret and no part of one. The log without what its rows say: that may quote texts of others.
_PARTS: Final = (
    _DataFile(
        "account.jsonl",
        gettext_lazy("your account"),
        (
            RecordKind(
                "person",
                User,
                ("username", "first_name", "last_name", "email", "is_active", "is_superuser", "date_joined", "last_login"),
            ),
        ),
        lambda user: Q(pk=user.pk),
    ),
    _DataFile(
        "settings.jsonl",
        gettext_lazy("your preferences, notifications, groups, other logins and imported files"),
        (
            RecordKind("preference", Preference, ("language", "theme", "time_zone", "shortcuts")),
            RecordKind("subscription", apps.get_model("notifications", "Subscription"), ("events",)),
            RecordKind("membership", Membership, ("role", "created_at"), ("group",)),
            RecordKind("login", Identity, ("issuer", "subject", "created_at")),
            RecordKind("upload", Upload, ("id", "name", "size", "state", "created_at")),
        ),
        _by_user,
    ),
    _DataFile(
        "tokens.jsonl",
        gettext_lazy("your tokens, without their secrets"),
        (
            RecordKind("token", ApiToken, ("id", "name", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at")),
        ),
        _by_user,
    ),
    _DataFile(
        "memories.jsonl",
        gettext_lazy("every version of a memory that you or your agents wrote, in every group and state"),
        (MEMORY,),
        authored,
    ),
    _DataFile(
        "statements.jsonl",
        gettext_lazy("checkpoints, relations and doubts that you or your agents wrote"),
        (CHECKPOINT, RELATION, DOUBT),
        authored,
    ),
    _DataFile(
        "conversations.jsonl",
        gettext_lazy("your conversations; their turns are memories"),
        (THREAD,),
        lambda user: Q(pk__in=own_threads(user).values("pk")),
    ),
    _DataFile(
        "captures.jsonl",
        gettext_lazy("which turns your browser sent"),
        (
            RecordKind("capture", CapturedTurn, ("platform", "conversation", "turn", "memory_id", "seen_at", "removed_at")),
        ),
        _by_user,
    ),
    _DataFile(
        "proposals.jsonl",
        gettext_lazy("changes that you or your agents proposed"),
        (
            RecordKind("proposal", Proposal, ("id", "verb", "subject", "arguments", "reason", "created_at", "status"), ("group", "memory")),
        ),
        _by_actor,
    ),
    _DataFile(
        "recalls.jsonl",
        gettext_lazy("what you and your agents asked, and what they said of the answers"),
        (
            RecordKind("recall", RecallLog, ("at", "actor", "via", "mode", "query", "duration_ms", "abstained"), ("group",)),
            RecordKind("verdict", Feedback, ("at", "actor", "via", "verdict"), ("memory",)),
        ),
        _by_actor,
    ),
    _DataFile(
        "log.jsonl",
        gettext_lazy("what you and your agents did, as the audit log has it; without the texts, which may be those of others"),
        (LOG,),
        lambda user: _by_actor(user) & Q(at__gte=user.date_joined),  # another person may have had the name before
    ),
)  # fmt: skip
_CONVERSATIONS: Final = "conversations.md"


@dataclass(frozen=True)
class PersonExport(Answer):
    """What an export of a person's data wrote: the number of rows by kind."""

    user: str
    counts: dict[str, int]


def export_person(
    actor: Actor, user: User, out: IO[bytes], *, on_progress: Callable[[int], object] | None = None
) -> PersonExport:
    """Write the zip of everything that is the person's own. All its rows show the same moment; the export is logged.

    Raises:
        NotPermitted: it is another person's, and the actor does not administer all groups.
    """
    if not (actor.is_admin_of_all or (actor.is_person and actor.user_id == user.pk)):
        raise NotPermitted("You may export your own data only.", hint="Ask a superuser.")
    counts = dict[str, int]()
    with consistent_read(), ZipFile(out, "w", ZIP_DEFLATED) as archive:
        archive.writestr("README.txt", _readme(user))
        for part in _PARTS:
            with archive.open(part.file, "w", force_zip64=True) as file:
                for line in _lines_of(part, user):
                    file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
                    counts[line["kind"]] = counts.get(line["kind"], 0) + 1
                    if on_progress is not None:
                        on_progress(1)
        with archive.open(_CONVERSATIONS, "w", force_zip64=True) as file:
            for text in _conversation_texts(user):
                file.write(f"{text}\n\n".encode())
    audit.append(actor, Operation.EXPORT, subject=f"user:{user.get_username()}", payload={"counts": counts})
    return PersonExport(user.get_username(), counts)


def file_name(user: User) -> str:
    """The name of the zip."""
    return f"{user.get_username()}-loci.zip"


def _lines_of(part: _DataFile, user: User) -> Iterator[dict[str, Any]]:
    for kind in part.kinds:
        yield from row_lines(kind, kind.model._base_manager.filter(part.whose(user)))


def _conversation_texts(user: User) -> Iterator[str]:
    """The person's turns of each of their conversations, under its title."""
    threads = own_threads(user).select_related("group").order_by("pk")
    turns = Memory.objects.filter(authored(user), state=State.LIVE).order_by("position", "key")
    for thread in threads.iterator(CHUNK_ROWS):
        yield f"# {thread.label}"
        yield " · ".join(filter(None, (thread.platform, thread.url, thread.group.slug)))
        yield from turns.filter(thread=thread).values_list("content", flat=True).iterator(CHUNK_ROWS)


def _readme(user: User) -> str:
    """What is in each file."""
    texts = gettext("your conversations as text: what you and your agents stored of them")
    files = [*((part.file, part.about) for part in _PARTS), (_CONVERSATIONS, texts)]
    head = gettext("Data of {name} in Loci, of {at} UTC.").format(
        name=user.get_username(), at=f"{datetime.now(UTC):%Y-%m-%d %H:%M}"
    )
    how = gettext(
        "A file that ends in .jsonl has one JSON object on each line, in UTF-8: its kind, and the row with its values."
    )
    return "\n\n".join((head, how, "\n".join(f"{name:<22}{about}" for name, about in files))) + "\n"
