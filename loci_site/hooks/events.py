"""What a client's hook reports, read from the JSON of any client into one form, and the answer in that client's schema."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from access.groups.guarding import safe_label

_MAX_TEXT_CHARS: Final = 32_000  # of a prompt or an answer; what follows is not read
MAX_FILES, MAX_COMMITS = 30, 50


class HookEvent(StrEnum):
    """An event, by its name in the address."""

    START = "session-start"
    PROMPT = "prompt"
    STOP = "stop"
    COMPACT = "pre-compact"
    COMPACTED = "post-compact"
    END = "session-end"


@dataclass(frozen=True)
class SessionPlace:
    """Where a session runs: its folder and what `loci-hook` read from its repository. `group` is the one configured for it."""

    folder: str = ""
    group: str = ""
    origin: str = ""
    branch: str = ""
    head: str = ""


@dataclass(frozen=True)
class _Commit:
    sha: str
    at: int  # seconds since the epoch
    message: str


@dataclass(frozen=True)
class HookCall:
    """One call of a hook. `source` says why a session started or ended, `summary` is the client's own of a compaction.

    A late one comes from the spool of `loci-hook`: its answer is not awaited.
    """

    client: str
    event: HookEvent
    session: str
    place: SessionPlace = field(default_factory=SessionPlace)
    source: str = ""
    prompt: str = ""
    answer: str = ""
    summary: str = ""
    files: tuple[str, ...] = ()
    commits: tuple[_Commit, ...] = ()
    is_ignored: bool = False
    is_late: bool = False


@dataclass(frozen=True)
class Schema:
    """How a client takes context. `starts` and `prompts` name the event in its answer; empty where the client takes none.

    `form`: "nested" under hookSpecificOutput, else the key that holds the text. `always` is part of every answer,
    `to_prompts` of those to a prompt.
    """

    starts: str
    prompts: str
    form: str = "nested"
    always: Mapping[str, Any] = field(default_factory=dict)
    to_prompts: Mapping[str, Any] = field(default_factory=dict)


# Read from the clients' documents; Claude Code's and Codex's were also run.
SCHEMAS: Final[dict[str, Schema]] = {
    "claude-code": Schema("SessionStart", "UserPromptSubmit"),
    "codex": Schema("SessionStart", "UserPromptSubmit"),
    "gemini": Schema("SessionStart", "BeforeAgent"),
    "cursor": Schema(
        "sessionStart", "beforeSubmitPrompt", "additional_context", to_prompts={"continue": True}
    ),
    "vscode": Schema("SessionStart", ""),
    "copilot-cli": Schema("sessionStart", "", "additionalContext"),
    "cline": Schema("TaskStart", "UserPromptSubmit", "contextModification", {"cancel": False}),
}


def read_call(client: str, event: str, sent: Any) -> HookCall | None:
    """The call in one form; None if the client, the event or the session is not known."""
    if client not in SCHEMAS or event not in set(HookEvent) or not isinstance(sent, dict):
        return None
    session = text_of(sent, "session_id", "sessionId", "conversation_id", "taskId")[:200]
    session = safe_label(session)[:200]
    if not session:
        return None
    ours = _ours(sent)
    return HookCall(
        client=client,
        event=HookEvent(event),
        session=session,
        place=read_place(sent),
        source=text_of(sent, "source", "reason", "trigger")[:40],
        prompt=_prompt_of(sent),
        answer=text_of(sent, "last_assistant_message", "prompt_response", "text"),
        summary=text_of(sent, "compact_summary"),
        files=tuple(str(each)[:300] for each in list_of(ours, "files")[:MAX_FILES]),
        commits=tuple(_read_commits(list_of(ours, "commits")[:MAX_COMMITS])),
        is_ignored=bool(ours.get("off")),
        is_late=bool(ours.get("late")),
    )


def read_place(sent: Mapping[str, Any]) -> SessionPlace:
    """The folder and the repository that a client sent."""
    ours = _ours(sent)
    listed = list_of(sent, "workspace_roots") or list_of(sent, "workspaceRoots")
    roots = [each for each in listed if isinstance(each, str)]
    return SessionPlace(
        folder=(text_of(sent, "cwd") or (roots[0] if roots else ""))[:1000],
        group=text_of(ours, "group")[:80],
        origin=text_of(ours, "origin")[:500],
        branch=text_of(ours, "branch")[:200],
        head=text_of(ours, "head")[:64],
    )


def _ours(sent: Mapping[str, Any]) -> dict[str, Any]:
    """What `loci-hook` added."""
    return inner if isinstance(inner := sent.get("loci"), dict) else {}


def text_of(sent: Mapping[str, Any], *names: str) -> str:
    """The first of these values that is a text, cut to a length that is read."""
    return next((sent[name][:_MAX_TEXT_CHARS] for name in names if isinstance(sent.get(name), str)), "")


def list_of(sent: Mapping[str, Any], name: str) -> list[Any]:
    """The value if it is a list; otherwise an empty one."""
    value = sent.get(name)
    return value if isinstance(value, list) else []


def _prompt_of(sent: Mapping[str, Any]) -> str:
    """The person's prompt; Cline has it one level down."""
    inner = sent.get("userPromptSubmit")
    return text_of(sent, "prompt") or (text_of(inner, "prompt") if isinstance(inner, dict) else "")


def _read_commits(sent: list[Any]) -> list[_Commit]:
    return [
        _Commit(each["sha"][:64], each["at"], each["message"][:2000])
        for each in sent
        if isinstance(each, dict)
        and isinstance(each.get("sha"), str)
        and isinstance(each.get("message"), str)
        and type(each.get("at")) is int
        and 0 <= each["at"] < 1 << 40
    ]


def render_answer(call: HookCall, context: str) -> dict[str, Any]:
    """The answer in the client's schema; without context what the client takes as "nothing"."""
    schema = SCHEMAS[call.client]
    names = {HookEvent.START: schema.starts, HookEvent.PROMPT: schema.prompts}
    name = names.get(call.event, "")
    always = {**schema.always, **(schema.to_prompts if call.event is HookEvent.PROMPT else {})}
    if not context or not name:
        return always
    if schema.form == "nested":
        return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}}
    return {**always, schema.form: context}
