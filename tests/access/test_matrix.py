"""The authorization matrix: every interface, every caller, every place; matrix.txt holds the expected outcomes."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import transaction
from django.test import Client
from mcp import Client as McpClient
from mcp.shared.exceptions import MCPError

from access.actor import Actor, Via
from access.errors import LociError
from access.tokens import actor_for_secret
from tests.access.matrix import Face, read_matrix
from tests.access.world import CSRF, World
from tests.mcp_server import client_of
from tests.sizes import part

pytestmark = [pytest.mark.django_db, pytest.mark.model]
Caller = str | Client  # a secret, or a browser
Ask = Callable[[Face, dict[str, str], Caller], str]  # → the outcome
UNTRIED = "-"
PARAMETERS = {
    "memory_id": "memory",
    "id": "memory",
    "slug": "group",
    "tombstone_id": "tombstone",
    "proposal_id": "proposal",
    "run_id": "run",
    "recall_id": "logged",
    "conversation_id": "conversation",
    "artifact_id": "artifact",
    "chunk_id": "chunk",
}


def differences(
    world: World, faces: list[Face], ask: Ask, callers: Callable[[World, str], list[Caller]] | None = None
) -> list[str]:
    """Every case whose outcome differs from the matrix. The effects of each case are rolled back.

    `callers` gives who asks for a column of the matrix; without it, who the column is named after. The first interface
    of each rule is asked by all, the others by a sixth of the columns, each by other ones; in a whole run all by all.
    """
    matrix, wrong, rules = read_matrix(), [], set[str]()
    for number, face in enumerate(faces):
        one_in = 6 if face.rule in rules else 1
        rules.add(face.rule)
        for at, place in enumerate(matrix.places(face.rule)):
            columns = [*matrix.outcomes[face.rule, place].items()]
            for caller, expected in part(columns, one_in, first=number + at):
                for secret in (callers or callers_of)(world, caller) if expected != "-" else ():
                    with transaction.atomic():
                        outcome = ask(face, world.places[place], secret)
                        transaction.set_rollback(True)
                    if outcome == UNTRIED:
                        continue
                    if outcome != expected:
                        wrong.append(
                            f"{face.kind} {face.name} | {place} | {caller}: {outcome}, not {expected}"
                        )
    return wrong


def callers_of(world: World, caller: str) -> list[Caller]:
    """A secret for each token of a column, or the person's browser."""
    if caller.startswith("p-"):
        return [world.browser(caller.removeprefix("p-"))]
    return [*world.secrets_of(caller)]


def addressed(name: str, place: dict[str, str]) -> str:
    """An interface's name with the object at the place."""
    text = re.sub(r"\{(\w+)(?:=([^}]*))?\}", lambda m: m[2] or place[PARAMETERS[m[1]]], name)
    return re.sub(r"\$(\w+)", lambda m: place[m[1]], text)


def ask_rest(face: Face, place: dict[str, str], caller: Caller) -> str:
    method, path = addressed(face.name, place).split(" ", 1)
    headers = (
        {"HTTP_X_CSRFTOKEN": CSRF}
        if isinstance(caller, Client)
        else {"HTTP_AUTHORIZATION": f"Bearer {caller}"}
    )
    client = caller if isinstance(caller, Client) else Client(raise_request_exception=False)
    body = face.body(place)
    sent = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
    answer = getattr(client, method.lower())(f"/api{path}", **sent, **(headers if caller else {}))
    if answer.status_code >= 400:
        said = answer.json()
        assert said["code"], face
        assert said["hint"] or answer.status_code == 404, (face, said)  # always with what is missing
    return "ok" if answer.status_code < 300 else str(answer.status_code)


def ask_mcp(face: Face, place: dict[str, str], caller: Caller) -> str:
    if isinstance(caller, Client):  # no person comes this way
        return UNTRIED
    try:
        actor = actor_for_secret(caller, via=Via.MCP)
    except LociError as refused:
        return str(refused.status)
    return async_to_sync(_over_mcp)(face, place, actor)


async def _over_mcp(face: Face, place: dict[str, str], actor: Actor) -> str:
    async with client_of(actor) as client:
        try:
            text = await _sent(client, face, place)
        except MCPError as refused:
            text = refused.message
    return _status_of(text)


async def _sent(client: McpClient, face: Face, place: dict[str, str]) -> str:
    """The text of an error; empty if there is none."""
    if face.kind == "resource":
        await client.read_resource(addressed(face.name, place))
        return ""
    if face.kind == "prompt":
        await client.get_prompt(face.name, face.body(place))
        return ""
    result: Any = await client.call_tool(face.name, face.body(place))
    return str(result.content[0].text) if result.is_error else ""


def _status_of(text: str) -> str:
    codes = {"not_permitted": "403", "not_found": "404", "group_not_found": "404"}
    said = re.search(r"\[(\w+)[^\]]*\]$", text)
    return "ok" if not text else codes.get(said[1] if said else "", text)


def test_rest_is_as_the_matrix_says(world: World) -> None:
    wrong = differences(world, read_matrix().of("rest"), ask_rest)
    assert not wrong, "\n".join(wrong)


def test_mcp_is_as_the_matrix_says(world: World) -> None:
    wrong = differences(world, read_matrix().of("tool", "resource", "prompt"), ask_mcp)
    assert not wrong, "\n".join(wrong)
