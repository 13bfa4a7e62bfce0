"""A program with an OAuth token has the rights of its user and scopes over MCP, as in the matrix."""

from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone
from oauth2_provider.models import AccessToken, Application

from access.actor import ALL_SCOPES, READ, WRITE
from access.errors import LociError
from access.tokens import operator
from loci_site.oauth.grants import GrantedAccess, actor_for_access_token, connect
from tests.access.matrix import Face, read_matrix
from tests.access.test_matrix import Caller, _over_mcp, differences
from tests.access.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.model]
AUDIENCE = "http://testserver/mcp"
# A column of the matrix, whose connection stands for it, and what the token itself may.
COLUMNS = {
    "owner": ("owner", ALL_SCOPES),
    "curator": ("curator", ALL_SCOPES),
    "contributor": ("contributor", ALL_SCOPES),
    "viewer": ("viewer", ALL_SCOPES),
    "stranger": ("stranger", ALL_SCOPES),
    "only-read": ("admin", {READ}),
    "only-write": ("admin", {WRITE}),
}


def tokens(world: World) -> dict[str, str]:
    """An access token for each column; the person has granted every scope."""
    made, soon = {}, timezone.now() + timedelta(hours=1)
    program = Application.objects.create(
        name="program", client_type="public", authorization_grant_type="authorization-code"
    )
    for column, (name, scopes) in COLUMNS.items():
        user = world.users[name]
        connect(operator(), user, program, GrantedAccess(frozenset(ALL_SCOPES)))
        made[column] = f"secret-of-{column}"
        AccessToken.objects.create(
            user=user,
            application=program,
            token=made[column],
            expires=soon,
            scope=" ".join(scopes),
            resource=[AUDIENCE],
        )
    return made


def ask(face: Face, place: dict[str, str], caller: Caller) -> str:
    assert isinstance(caller, str)
    try:
        actor = actor_for_access_token(caller, audience=AUDIENCE)
    except LociError as refused:
        return str(refused.status)
    return async_to_sync(_over_mcp)(face, place, actor)


def test_oauth_is_as_the_matrix_says(world: World) -> None:
    made = tokens(world)
    faces = read_matrix().of("tool", "resource", "prompt")
    asked: list[str] = []

    def callers(_: World, column: str) -> list[Caller]:
        asked.extend([column] if column in made else [])
        return [made[column]] if column in made else []

    wrong = differences(world, faces, ask, callers)
    assert not wrong, "\n".join(wrong)
    assert set(asked) == set(COLUMNS)


def test_a_token_for_another_server_is_nobodys(world: World) -> None:
    made = tokens(world)
    AccessToken.objects.update(resource=["http://elsewhere/mcp"])
    face = read_matrix().of("tool")[0]
    assert {ask(face, world.places["own"], secret) for secret in made.values()} == {"401"}
