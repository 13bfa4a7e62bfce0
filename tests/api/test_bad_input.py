"""What is wrong with a request is said in words, with the field and what is allowed; nothing is half-written."""

import json
import logging
from dataclasses import replace
from typing import Any

import pytest
from pytest_django import Settings

from access.models import AuditEntry
from memories.models import Memory
from tests.api.conftest import Caller

pytestmark = [pytest.mark.django_db, pytest.mark.model]


@pytest.mark.parametrize(
    ("change", "status", "field", "said"),
    [
        ({"content": ""}, 422, "content", "'content' is empty."),
        ({"content": "\u200b \ufeff"}, 422, "content", "'content' is empty."),
        ({"content": "x" * 100_001}, 413, "content", "100,001 characters; at most 100,000"),
        ({"content": "a\x00b"}, 422, "content", "NUL character at position 1"),
        ({"content": 7}, 422, "content", "'content': input should be a valid string."),
        ({"content": None}, 422, "content", "'content': input should be a valid string."),
        ({"type": "rumour"}, 422, "type", "'rumour' is no type."),
        ({"scope": "everyone"}, 422, "scope", "'everyone' is no scope."),
        ({"confidence": 7}, 422, "confidence", "'confidence': input should be less than or equal to 1."),
        ({"confidence": "high"}, 422, "confidence", "'confidence': input should be a valid number."),
        ({"importance": 0}, 422, "importance", "greater than or equal to 1"),
        ({"importance": 10**400}, 422, "importance", "'importance'"),
        ({"supersedes": "the last one"}, 422, "supersedes", "'the last one' is no memory id."),
        ({"supersedes": "0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f"}, 404, "supersedes", "no memory of that id"),
        ({"valid_from": "2026-01-01"}, 422, "valid_from", "valid_from has no time zone."),
        ({"valid_from": "soon"}, 422, "valid_from", "'soon' is no date and time."),
        ({"valid_from": 5}, 422, "valid_from", "'valid_from' is no text."),
        ({"valid_from": "0001-01-01T00:00:00+14:00"}, 422, "valid_from", "outside the calendar"),
        (
            {"valid_from": "2026-02-01T00:00:00Z", "valid_to": "2026-01-01T00:00:00Z"},
            422,
            "valid_to",
            "lies before",
        ),
        ({"tags": "one"}, 422, "tags", "'tags': input should be a valid list."),
        ({"tags": [f"t{n}" for n in range(33)]}, 422, "tags", "33 tags; at most 32"),
        ({"metadata": {"a": "x" * 20_000}}, 422, "metadata", "at most 16,384"),
        ({"metadata": []}, 422, "metadata", "'metadata'"),
        ({"contents": "x"}, 422, "contents", "'contents' is not known here."),
        ({"position": -1}, 422, "position", "'position'"),
        ({"group": "no such group"}, 422, "group", "is no name for a group"),
        ({"source": "a\x00"}, 422, "source", "NUL"),
    ],
)
def test_a_wrong_field_is_named(
    owner: Caller, change: dict[str, Any], status: int, field: str, said: str
) -> None:
    rows = AuditEntry.objects.count()
    error = owner.store(**{"content": "The deploy port is 8081.", **change}, status=status)
    assert (error["field"], said in error["message"]) == (field, True), error
    assert Memory.objects.count() == 0
    assert AuditEntry.objects.count() == rows


@pytest.mark.parametrize("half", ['"\\ud800"', '"a\\udfff"'])
@pytest.mark.parametrize("field", ["content", "tags", "metadata", "thread"])
def test_half_of_a_surrogate_pair_is_refused(owner: Caller, half: str, field: str) -> None:
    values = {
        "content": '"x"',
        "group": '"ledger"',
        field: {"tags": f"[{half}]", "metadata": f'{{"a": {half}}}'}.get(field, half),
    }
    body = "{" + ", ".join(f'"{name}": {value}' for name, value in values.items()) + "}"
    error = owner.send("post", "/memories", body, status=422)
    assert error["field"] == field
    assert Memory.objects.count() == 0


@pytest.mark.parametrize("body", ["{", "", "[1, 2", "\xff\xfe", '{"content": "x"', "[" * 100_000, "nul"])
def test_what_is_no_json_answers_400(owner: Caller, body: str) -> None:
    error = owner.send("post", "/memories", body.encode("latin-1"), status=422 if body == "" else 400)
    assert error["code"] == ("invalid_input" if body == "" else "malformed")


@pytest.mark.parametrize("body", ["[]", "7", '"text"', "null", "true"])
def test_json_that_is_no_object_answers_422(owner: Caller, body: str) -> None:
    assert owner.send("post", "/memories", body, status=422)["code"] == "invalid_input"


@pytest.mark.parametrize(
    "query",
    [
        "?!",
        '"',
        'c++ OR "x" AND (',
        "NEAR(a b)",
        "*",
        "a*",
        "col:x",
        "🦊",
        "日本語の検索",
        "مرحبا بالعالم",
        "x" * 4000,
        "--",
        "%_",
        "^a",
    ],
)
def test_any_question_is_answered(owner: Caller, query: str) -> None:
    owner.store("c++ is fast, 日本語の検索, مرحبا بالعالم 🦊")
    answer = owner.post("/recall", {"query": query, "group": "ledger"})
    assert answer["count"] == len(answer["results"])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": "x", "ids": ["0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f"]}, "query"),
        ({"query": "x" * 4001}, "query"),
        ({"query": "a\x00"}, "query"),
        ({"ids": ["7"]}, "ids"),
        ({"query": "x", "max_results": 0}, "max_results"),
        ({"query": "x", "mode": "psychic"}, "mode"),
        ({"query": "x", "types": ["rumour"]}, "types"),
        ({"query": "x", "as_of": "then"}, "as_of"),
    ],
)
def test_a_question_that_cannot_be_asked_names_the_field(
    owner: Caller, body: dict[str, Any], field: str
) -> None:
    error = owner.send(
        "post",
        "/recall",
        {"group": "ledger", **body},
        status=413 if len(body.get("query", "")) > 4000 else 422,
    )
    assert error["field"] == field


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/memories?limit=0", 422, "'limit'"),
        ("/memories?limit=101", 422, "'limit'"),
        ("/memories?limit=many", 422, "'limit'"),
        ("/memories?cursor=abc", 422, "'abc' is no cursor."),
        ("/memories?cursor=%D9%A1", 422, "is no cursor."),
        ("/memories?type=rumour", 422, "'rumour' is no type."),
        ("/memories?state=gone", 422, "'gone' is no state."),
        ("/memories?gruop=ledger", 422, "'gruop' is not known here."),
        ("/memories?q=a%00b", 422, "NUL"),
        ("/memories/7", 422, "'7' is no memory id."),
        ("/memories/0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f", 404, "no memory of that id"),
        ("/log?operation=dance", 422, "'dance' is no operation."),
        ("/log?memory=7", 422, "'7' is no memory id."),
        ("/relations", 422, "'of' is missing."),
        ("/relations?of=x&depth=9", 422, "'depth'"),
        ("/groups/nowhere", 404, "There is no group 'nowhere' that you may use."),
        ("/stats?group=", 422, "No group is named"),
        ("/context?group=ledger&token_budget=1", 422, "token_budget"),
        ("/nowhere", 404, "There is nothing at /api/nowhere."),
        ("/memories/", 404, "There is nothing at /api/memories/."),
        ("/maintenance", 404, "There is nothing"),
    ],
)
def test_a_wrong_address_says_what_is_wrong(owner: Caller, path: str, status: int, said: str) -> None:
    error = owner.get(path, status=status)
    assert said in error["message"]
    assert set(error) - {"field"} == {"code", "message", "hint"}


def test_a_misspelt_filter_is_told_its_name(owner: Caller) -> None:
    assert owner.get("/memories?gruop=ledger", status=422)["hint"] == "did you mean group?"


def test_an_unknown_verb_lists_those_there_are(owner: Caller) -> None:
    error = owner.post("/memories/0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f/explode", status=422)
    assert (error["field"], "'purge'" in error["hint"]) == ("verb", True)


def test_a_method_that_is_not_known_answers_405_with_those_that_are(owner: Caller) -> None:
    error = owner.send("put", "/memories", {}, status=405)
    assert (error["code"], error["hint"]) == ("method_not_allowed", "Use GET, POST.")
    assert owner.client.put("/api/memories")["Allow"] == "GET, POST"


def test_a_body_beyond_the_limit_answers_413(owner: Caller, settings: Settings) -> None:
    settings.LOCI = replace(settings.LOCI, server=replace(settings.LOCI.server, max_body_bytes=1024))
    body = json.dumps({"content": "x" * 2000, "group": "ledger"})
    error = owner.send("post", "/memories", body, status=413)
    assert (error["code"], error["message"]) == ("too_large", "The request is larger than 1,024 bytes.")
    assert Memory.objects.count() == 0


def test_five_megabytes_answer_413(owner: Caller) -> None:
    error = owner.store("x" * 5_000_000, status=413)
    assert error["code"] == "too_large"


def test_what_nobody_foresaw_answers_500_with_a_reference_and_no_details(
    owner: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("the password is swordfish")

    monkeypatch.setattr("loci_site.api.group_routes.entered_groups", broken)
    with caplog.at_level(logging.ERROR):
        error = owner.get("/groups", status=500)
    reference = error["hint"].split()[-1].rstrip(".")
    assert (error["code"], error["message"], len(reference)) == ("internal", "Something broke.", 8)
    assert "swordfish" not in json.dumps(error)
    assert reference in caplog.text
    assert "swordfish" in caplog.text
