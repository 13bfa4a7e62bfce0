"""Every client's events: those of Claude Code and Codex as recorded from the programs, the others as their documents say."""

import json
from pathlib import Path
from typing import Any

import pytest

from loci_site.hooks.events import SCHEMAS, HookEvent, read_call, render_answer

PAYLOADS = sorted((Path(__file__).parent / "payloads").glob("*/*.json"))
CONTEXT = "<loci>brass</loci>"
NOTHING: dict[str, dict[str, Any]] = {"cline": {"cancel": False}}
# What each client takes: under which event's name, or under which key.
STARTS: dict[str, dict[str, Any]] = {
    "claude-code": {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": CONTEXT}},
    "codex": {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": CONTEXT}},
    "gemini": {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": CONTEXT}},
    "vscode": {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": CONTEXT}},
    "cursor": {"additional_context": CONTEXT},
    "copilot-cli": {"additionalContext": CONTEXT},
    "cline": {"cancel": False, "contextModification": CONTEXT},
}
PROMPTS: dict[str, dict[str, Any]] = {
    "claude-code": {
        "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": CONTEXT}
    },
    "codex": {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": CONTEXT}},
    "gemini": {"hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": CONTEXT}},
    "vscode": {},
    "cursor": {"continue": True, "additional_context": CONTEXT},
    "copilot-cli": {},
    "cline": {"cancel": False, "contextModification": CONTEXT},
}


@pytest.mark.parametrize("path", PAYLOADS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_event_is_read_whole(path: Path) -> None:
    client, event = path.parent.name, path.stem
    call = read_call(client, event, json.loads(path.read_text()))
    assert call is not None
    assert call.session
    assert call.place.folder.startswith("/home/ann/ledger")
    assert (call.event, call.is_ignored) == (HookEvent(event), False)
    if event == "prompt":
        assert "database" in call.prompt
    if event == "stop":
        assert call.answer


@pytest.mark.parametrize("client", SCHEMAS)
def test_an_answer_has_the_clients_form(client: str) -> None:
    nothing = NOTHING.get(client, {})
    for event in HookEvent:
        call = read_call(client, event, {"session_id": "s"})
        assert call is not None
        expected = {HookEvent.START: STARTS, HookEvent.PROMPT: PROMPTS}.get(event, {}).get(client, nothing)
        assert render_answer(call, CONTEXT) == expected
        bare = {"continue": True} if (client, event) == ("cursor", HookEvent.PROMPT) else nothing
        assert render_answer(call, "") == bare


def test_every_client_has_recorded_events() -> None:
    assert {path.parent.name for path in PAYLOADS} == set(SCHEMAS)
