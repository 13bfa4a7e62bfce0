"""Stores the turns of captured conversations: each is an event of a thread, and a repeated turn changes nothing.

A turn with another text under the same id is the next version of its memory. A conversation is kept where its thread is:
in the inbox of the person whose browser sent it, or in the group that it was assigned to.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, Literal, cast
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils import timezone

from access.actor import Actor
from access.answers import Answer
from access.errors import InvalidInput
from access.groups.guarding import mask_words, refuse_secret
from access.models import Group
from memories.draft import Draft
from memories.language.cleaning import clean_line
from memories.language.dress.quotes import REDACTION
from memories.models import Thread
from memories.store import Outcome, StoreResult, store
from memories.store.bulk import store_many
from memories.store.withdrawn.marks import find_repeated
from memories.types import Scope, Type
from sources.captures.inbox import check_may_capture, find_or_create_inbox, writing_actor
from sources.models import CapturedTurn

MAX_TURNS: Final = 200  # of one call
MAX_TITLE_CHARS, MAX_URL_CHARS, MAX_ID_CHARS = 200, 500, 120
PLATFORM: Final = re.compile(r"[a-z0-9][a-z0-9.-]{0,39}")
_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,119}")
_SPEAKERS: Final = {"user": "User", "assistant": "Assistant"}  # as recall knows the speakers
CHANGED: Final = "changed"  # a new version of a turn that was kept before
DELETED: Final = "the conversation was deleted here"


@dataclass(frozen=True)
class SentTurn:
    """A turn under the site's own id, which stays the same when its text is edited."""

    id: str
    role: str
    text: str
    at: datetime | None = None


@dataclass(frozen=True)
class SentConversation:
    """A conversation of a site, or a part of one, with its turns in order."""

    platform: str
    id: str
    turns: tuple[SentTurn, ...]
    title: str = ""
    url: str = ""

    @property
    def thread(self) -> str:
        """The name of its thread."""
        return f"{self.platform}/{self.id}"

    @property
    def source(self) -> str:
        """The source of its memories."""
        return f"browser:{self.platform}"


_Settled = Literal["created", "changed", "reinforced", "queued", "unchanged", "refused"]


@dataclass(frozen=True)
class KeptTurn(Answer):
    """What became of a turn. All are settled: none needs to be sent again."""

    id: str
    outcome: _Settled
    why: str


@dataclass(frozen=True)
class KeptConversation(Answer):
    """Where a conversation is kept: its thread, and the group that this is in."""

    platform: str
    id: str
    thread: str
    group: str
    turns: tuple[KeptTurn, ...]


def keep_conversations(actor: Actor, sent: Sequence[SentConversation]) -> list[KeptConversation]:
    """Store the turns of these conversations; a repeated call changes nothing.

    Raises:
        NotPermitted: the actor's token has no scope 'capture'.
        InvalidInput: too many turns, or a name that is not allowed; nothing is written then.
    """
    user = check_may_capture(actor)
    _check_conversations(sent)
    writer = writing_actor(actor)
    return [_keep_conversation(writer, user, each) for each in sent]


def _check_conversations(sent: Sequence[SentConversation]) -> None:
    count = sum(len(each.turns) for each in sent)
    if count > MAX_TURNS:
        raise InvalidInput(
            f"{count} turns are too many.",
            hint=f"Send at most {MAX_TURNS} in one call.",
            field="conversations",
        )
    for each in sent:
        check_name(each.platform, PLATFORM, field="platform", allowed="a host such as claude.ai")
        check_name(each.id, _IDENTIFIER, field="id", allowed="letters, digits and . _ : -, at most 120")
        _check_url(each)
        for turn in each.turns:
            check_name(turn.id, _IDENTIFIER, field="turns", allowed="ids of letters, digits and . _ : -")
            if turn.role not in _SPEAKERS:
                raise InvalidInput(
                    f"'{turn.role[:40]}' is not a role.", hint=f"Use {' or '.join(_SPEAKERS)}.", field="role"
                )


def check_name(value: str, pattern: re.Pattern[str], *, field: str, allowed: str) -> None:
    """Raise InvalidInput unless the value is a name of this form and no secret."""
    if not pattern.fullmatch(value):
        raise InvalidInput(
            f"'{value[:60]}' is not allowed as '{field}'.", hint=f"Use {allowed}.", field=field
        )
    refuse_secret(value, field=field, label=f"'{field}'")


def _check_url(sent: SentConversation) -> None:
    if sent.url and not is_address_of(sent.platform, sent.url):
        raise InvalidInput(
            "The url is not an address of the conversation's site.",
            hint=f"Send https://{sent.platform}/…, at most {MAX_URL_CHARS} characters.",
            field="url",
        )


def is_address_of(platform: str, url: str) -> bool:
    """True if a conversation's address is one of its site."""
    try:
        parts = urlsplit(url)
        is_own = parts.scheme == "https" and (parts.hostname or "").removeprefix("www.") == platform
    except ValueError:  # brackets that hold no address
        return False
    return is_own and len(url) <= MAX_URL_CHARS


def _keep_conversation(writer: Actor, user: User, sent: SentConversation) -> KeptConversation:
    """Store the turns of one conversation; each turn is accepted or refused on its own."""
    thread = _find_thread_of(user, sent)
    group = thread.group if thread is not None else find_or_create_inbox(writer, user)
    kept = partial(KeptConversation, sent.platform, sent.id, sent.thread, group.slug)
    if thread is not None and thread.deleted_at is not None:
        return kept(tuple(KeptTurn(each.id, "refused", DELETED) for each in sent.turns))
    known = set(_captured(user, sent).values_list("turn", flat=True))
    result = store_many(writer, [_draft_of(sent, turn, group) for turn in sent.turns])
    why = {refusal.index: refusal.why for refusal in result.refused}
    turns = []
    for at, (turn, outcome) in enumerate(zip(sent.turns, result.outcomes, strict=True)):
        is_changed = outcome == Outcome.CREATED and turn.id in known
        settled = cast(_Settled, CHANGED if is_changed else outcome)
        turns.append(KeptTurn(turn.id, settled, why.get(at, "")))
    pairs = zip(sent.turns, result.ids, strict=True)
    memories = {turn.id: id_ for turn, id_ in pairs if id_ is not None}
    # A turn that was removed and is kept again is a new memory, which a later purge has to find.
    for row in _captured(user, sent).filter(turn__in=memories).exclude(removed_at=None):
        CapturedTurn.objects.filter(pk=row.pk).update(memory_id=memories[row.turn], removed_at=None)
    CapturedTurn.objects.bulk_create(
        [
            CapturedTurn(
                user=user, platform=sent.platform, conversation=sent.id, turn=turn, memory_id=memory_id
            )
            for turn, memory_id in memories.items()
        ],
        ignore_conflicts=True,
    )
    _describe_thread(user, sent, group)
    return kept(tuple(turns))


def _find_thread_of(user: User, sent: SentConversation) -> Thread | None:
    """The thread that this person's browser has sent turns to, in whichever group it is now."""
    rows = Thread.objects.select_related("group").filter(owner=user, platform=sent.platform, name=sent.thread)
    return rows.order_by("-key").first()


def _draft_of(sent: SentConversation, turn: SentTurn, group: Group) -> Draft:
    """A turn as an event of its thread, with its speaker in front, as imports write it."""
    speaker = _SPEAKERS[turn.role]
    return Draft(
        f"{speaker}: {turn.text}",
        type=Type.EPISODIC,
        group=group.slug,
        scope=Scope.GROUP,
        thread=sent.thread,
        metadata={"speaker": speaker},
        source=sent.source,
        source_ref=f"{sent.id}/{turn.id}",
        valid_from=turn.at,
        outside=True,
    )


def _captured(user: User, sent: SentConversation) -> QuerySet[CapturedTurn]:
    return CapturedTurn.objects.filter(user=user, platform=sent.platform, conversation=sent.id)


def _describe_thread(user: User, sent: SentConversation, group: Group) -> None:
    thread = Thread.objects.filter(group=group, name=sent.thread).first()
    if thread is None:
        return
    title = clean_line(sent.title[: 2 * MAX_TITLE_CHARS], field="title", max_chars=2 * MAX_TITLE_CHARS)
    title = mask_words(title, group=group)[:MAX_TITLE_CHARS]
    # The site sends a purged title again.
    is_barred = REDACTION in thread.title or find_repeated([(group.key, {"title": title})])[0] is not None
    moments = [turn.at for turn in sent.turns if turn.at is not None]
    last = max([*moments, *filter(None, [thread.active_at])], default=timezone.now())
    fresh = {
        "title": thread.title if is_barred or not title else title,
        "url": _safe_url(sent, group) or thread.url,
        "platform": sent.platform,
        "owner_id": user.pk,
        "active_at": last,
    }
    if any(getattr(thread, name) != value for name, value in fresh.items()):
        Thread.objects.filter(pk=thread.pk).update(**fresh)


def _safe_url(sent: SentConversation, group: Group) -> str:
    """The conversation's address; empty if the guard finds a secret in it."""
    return sent.url if mask_words(sent.url, group=group) == sent.url else ""


def remember_selection(
    actor: Actor, sent: SentConversation, text: str, *, tags: Sequence[str] = ()
) -> StoreResult:
    """Store a selected text as one fact in the conversation's group, subject to the group's policy.

    Raises what store() raises, and NotPermitted without the scope 'capture'.
    """
    user = check_may_capture(actor)
    _check_conversations([sent])
    writer = writing_actor(actor)
    thread = _find_thread_of(user, sent)
    is_kept = thread is not None and thread.deleted_at is None
    group = thread.group if thread is not None and is_kept else find_or_create_inbox(writer, user)
    return store(
        writer,
        Draft(
            text,
            type=Type.SEMANTIC,
            group=group.slug,
            scope=Scope.GROUP,
            tags=("said", *tags),
            metadata={
                "conversation": sent.thread,
                **({"url": url} if (url := _safe_url(sent, group)) else {}),
            },
            source=sent.source,
            outside=True,
        ),
    )
