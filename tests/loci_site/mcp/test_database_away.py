"""/mcp while the database does not answer: 503 and a sentence, by both ways in, and no fault inside Loci."""

import pytest
from django.db import OperationalError
from django.test import AsyncClient

from loci_site.mcp.transports import django_view

AWAY = "consuming input failed: server closed the connection unexpectedly"


@pytest.mark.django_db
async def test_a_caller_that_cannot_be_looked_up_is_told_to_try_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def lost(*_: object, **__: object) -> None:
        raise OperationalError(AWAY)  # as the driver says it when the server is killed under a query

    monkeypatch.setattr(django_view, "find_actor", lost)
    answer = await AsyncClient().post("/mcp", headers={"authorization": "Bearer loci_x"}, data={})
    assert answer.status_code == 503
    assert answer.json()["code"] == "unavailable"
