"""The schemas of hooks inside the installed clients: read from their programs, compared by hash, never copied here."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator

from bench.proof.proof import REPOSITORY, ProofError

PAYLOADS = REPOSITORY / "tests" / "loci_site" / "hooks" / "payloads"
MAX_SCHEMA = 60_000
# Of the schemas in the pinned versions (package.json); new ones are looked at before these change.
CODEX_HASH = "be7d14c159d44347"
CLAUDE_HASH = "01a7d101e99bfb5e"
CODEX_TITLES = {
    "session-start": "session-start",
    "prompt": "user-prompt-submit",
    "stop": "stop",
    "pre-compact": "pre-compact",
    "post-compact": "post-compact",
    "session-end": "session-end",
}
_SCHEMA = re.compile(rb'\{\s*"\$schema"')
# The fields that an event's answer may have, from the minified zod calls with which Claude Code checks it.
_ZOD = re.compile(rb'hookEventName:\w+\.literal\("(SessionStart|UserPromptSubmit)"\),(.{1,900}?)\}\)', re.S)
_FIELD = re.compile(rb"(?:^|,)(\w+):\w+\.(\w+)\(")


@dataclass(frozen=True)
class Schemas:
    """JSON schemas by title (Codex), or the text fields of an event's answer by the event (Claude Code), and their hash."""

    found: dict[str, Any]
    hash: str


def program_of(modules: Path, package: str, name: str) -> Path:
    """The native program of a client, in the package for this machine."""
    found = sorted(each for each in modules.glob(f"{package}-*/**/{name}") if each.is_file())
    if not found:
        raise ProofError(f"{package} has no program {name} for this machine.")
    return found[0]


def codex_schemas(modules: Path) -> Schemas:
    """The JSON schemas in Codex's program."""
    data = program_of(modules, "@openai/codex", "codex").read_bytes()
    texts = dict(_json_schemas(data))
    wanted = {f"{each}.command.{side}" for each in CODEX_TITLES.values() for side in ("input", "output")}
    return _hashed({title: text for title, text in texts.items() if title in wanted})


def _json_schemas(data: bytes) -> Iterator[tuple[str, Any]]:
    for match in _SCHEMA.finditer(data):
        text = data[match.start() : match.start() + MAX_SCHEMA].decode(errors="replace")
        try:
            schema, _ = json.JSONDecoder().raw_decode(text)
        except ValueError:
            continue
        yield str(schema.get("title")), schema


def claude_fields(modules: Path) -> Schemas:
    """The fields of an answer to each event in Claude Code's program, with their types."""
    data = program_of(modules, "@anthropic-ai/claude-code", "claude").read_bytes()
    fields: dict[str, dict[str, str]] = {}
    for event, text in _ZOD.findall(data):
        each = {name.decode(): kind.decode() for name, kind in _FIELD.findall(text)}
        fields.setdefault(event.decode(), each)
    return _hashed(fields)


def _hashed(found: dict[str, Any]) -> Schemas:
    return Schemas(found, hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16])


def payloads_of(client: str) -> dict[str, dict[str, Any]]:
    """The recorded events of a client by their names."""
    return {path.stem: json.loads(path.read_text()) for path in sorted((PAYLOADS / client).glob("*.json"))}


def faults_in_codex(schemas: Schemas, event: str, sent: Any, answer: Any) -> list[str]:
    """What Codex's schemas say against a recorded event and the answer to it."""
    title = f"{CODEX_TITLES[event]}.command"
    faults = [f"the recorded event: {each.message}" for each in _errors(schemas, f"{title}.input", sent)]
    if f"{title}.output" not in schemas.found:  # nobody reads the answer to the end of a session
        return faults + ([] if answer == {} else [f"Codex takes no answer to {event}: {answer}"])
    return faults + [f"the answer: {each.message}" for each in _errors(schemas, f"{title}.output", answer)]


def _errors(schemas: Schemas, title: str, value: Any) -> Iterator[Any]:
    if title not in schemas.found:
        raise ProofError(f"Codex's program has no schema {title}.")
    return Draft7Validator(schemas.found[title]).iter_errors(value)  # type: ignore[no-any-return]


def faults_in_claude(schemas: Schemas, answer: Any) -> list[str]:
    """What Claude Code's fields say against an answer."""
    if answer == {}:
        return []
    inner = dict(answer.get("hookSpecificOutput", {}))
    name = inner.pop("hookEventName", "")
    if set(answer) != {"hookSpecificOutput"} or name not in schemas.found:
        return [f"the answer has an unknown form: {answer}"]
    return [
        f"the answer to {name} has the unknown field {field}"
        for field, value in inner.items()
        if schemas.found[name].get(field) != "string" or not isinstance(value, str)
    ]
