"""Captures without a model: what a person asks to be remembered, decisions with their reason, and commits.

Everything passes the write path of any memory, and waits for a person unless the group says otherwise.
"""

import hashlib
import logging
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from access.actor import Actor
from access.errors import LociError
from access.limits.throttle import left_of
from access.models import CaptureRule
from loci_site.hooks.events import HookCall, HookEvent
from loci_site.hooks.models import HookSession
from loci_site.hooks.prompt_text import POINTS_HERE, clean_prompt, without_code
from loci_site.hooks.sessions import find_session, injected_ids
from memories.draft import Draft
from memories.language.cleaning import fold
from memories.language.word_tables import read_sections
from memories.models import Memory
from memories.search.query_terms import content_words
from memories.store import store
from memories.types import Type

logger = logging.getLogger(__name__)
_HELD_BACK: Final = "a hook captured it, and a person decides about captures"
SAID, DECISION, COMMIT = "said", "decision", "commit"
MIN_WORDS, MIN_CHARS, MAX_CHARS = 2, 12, 2000
_MAX_CAPTURES: Final = 5  # of one text
_WORDS = {name: "|".join(lines) for name, lines in read_sections("captures").items()}
_REMEMBER = re.compile(rf"(?:{_WORDS['remember']})\s+(?P<text>.+)", re.I | re.S)
_RULE = re.compile(rf"(?:{_WORDS['rule']})[\s,:]", re.I)
_DECISION = re.compile(rf"(?:{_WORDS['decision']})\b", re.I)
_REASON = re.compile(rf"\b(?:{_WORDS['reason']})\b", re.I)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_TRAILERS = re.compile(r"(?:\n+[A-Z][\w-]+(?:-by|-Id|-on): .*)+\s*\Z")  # of a commit, such as Signed-off-by
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
# "Remember when we …" and "remember to …" speak of the talk and of the present task.
_ONLY_POINTS = re.compile(r"(?:when|how|me|to|this|that|it|them)\b", re.I)


@dataclass(frozen=True)
class _Capture:
    """A text worth keeping, and the tag that says why."""

    text: str
    tag: str


def find_captures(prompt: str) -> list[_Capture]:
    """What a cleaned prompt asks to be remembered, and decisions in it; each a sentence at the start of which it says so."""
    found = [_said_in(sentence) or _decided_in(sentence) for sentence in sentences_of(prompt)]
    return [capture for capture in found if capture is not None][:_MAX_CAPTURES]


def find_decisions(answer: str) -> list[_Capture]:
    """The decisions with a reason in an answer of the agent."""
    found = map(_decided_in, sentences_of(answer))
    return [capture for capture in found if capture is not None and _REASON.search(capture.text)][
        :_MAX_CAPTURES
    ]


def sentences_of(text: str) -> list[str]:
    """The sentences without code, list marks and questions."""
    parts = (_BULLET.sub("", part).strip() for part in _SENTENCE.split(without_code(text)))
    return [part for part in parts if MIN_CHARS <= len(part) <= MAX_CHARS and not part.endswith("?")]


def _said_in(sentence: str) -> _Capture | None:
    """What a sentence asks to be remembered; None if it asks nothing, or points into the conversation."""
    asked = _REMEMBER.match(sentence)
    text = asked["text"].strip() if asked else sentence if _RULE.match(sentence) else ""
    is_empty = len(set(content_words(text))) < MIN_WORDS or _ONLY_POINTS.match(text) is not None
    return None if not text or is_empty or POINTS_HERE.search(text) else _Capture(text, SAID)


def _decided_in(sentence: str) -> _Capture | None:
    is_one = _DECISION.match(sentence) and not POINTS_HERE.search(sentence)
    return _Capture(sentence, DECISION) if is_one else None


def capture_of(call: HookCall) -> list[_Capture]:
    """The captures of a call, cheap enough to look before anything is opened."""
    if call.event is HookEvent.PROMPT:
        return find_captures(clean_prompt(call.prompt))
    return find_decisions(clean_prompt(call.answer)) if call.event is HookEvent.STOP else []


def keep_captures(actor: Actor, call: HookCall) -> int:
    """Store what a call holds, commits of the session included; the number of texts stored or restated."""
    row = find_session(actor, call)
    if row is None or row.is_off or row.group is None or left_of(actor) < 1:
        return 0
    # An answer that repeats a text that the session was given says nothing new.
    given = Memory.objects.filter(id__in=injected_ids(row)).values_list("content", flat=True)
    known = [fold(text) for text in given]
    drafts = [draft_of(call, capture) for capture in capture_of(call) if not is_known(capture.text, known)]
    writer = replace(actor, is_prompt=call.event is HookEvent.PROMPT)
    return sum(keep(writer, row, draft) for draft in drafts) + sum(
        keep(actor, row, draft) for draft in _commit_drafts(call, row)
    )


def is_known(text: str, known: list[str]) -> bool:
    """Whether the text is part of an injected one, or has one in it."""
    said = fold(text)
    return any(said in each or each in said for each in known)


def draft_of(call: HookCall, capture: _Capture) -> Draft:
    """The draft of a capture; the same words in the same session are stored once."""
    digest = hashlib.sha256(capture.text.encode()).hexdigest()[:12]
    return Draft(
        capture.text,
        type=Type.SEMANTIC,
        tags=(capture.tag,),
        source=f"hook:{call.client}",
        source_ref=f"{call.session}:{digest}",
    )


def _commit_drafts(call: HookCall, row: HookSession) -> list[Draft]:
    """Events of the commits made since the session began, each stored once whatever client reports it."""
    since = row.started_at.timestamp()
    return [
        Draft(
            f"Commit {commit.sha[:10]}{f' on {call.place.branch}' if call.place.branch else ''}: {_TRAILERS.sub('', commit.message).strip()}",
            type=Type.EPISODIC,
            tags=(COMMIT,),
            source="hook:git",
            source_ref=commit.sha,
            anchor_commit=commit.sha,
            valid_from=datetime.fromtimestamp(commit.at, UTC),
        )
        for commit in call.commits
        if commit.at >= since and commit.message.strip()
    ]


def keep(actor: Actor, row: HookSession, draft: Draft) -> bool:
    """Store a draft; a text that is refused is left out."""
    assert row.group is not None  # noqa: S101 - for the type checker: the caller has looked
    is_live = row.group.captures == CaptureRule.LIVE and DECISION not in draft.tags
    writer = replace(actor, client=row.client, held_back="" if is_live else _HELD_BACK)
    try:
        store(writer, replace(draft, group=row.group.slug))
    except LociError as error:
        logger.info("A capture was not stored: %s", error)
        return False
    return True
