"""The guard on JSON: nesting, numbers, and pairs that name a value."""

from typing import Any

import pytest

from access.errors import InvalidInput, SensitiveText
from access.groups.guarding import MAX_DEPTH, OnHold, admit
from access.groups.text_finding import TextFinding
from guard import Door, Policy
from guard.policy import read_pairs
from tests.guard.samples import secret_samples

TOKEN = secret_samples()["github-token"]
PASSWORD = "Tr0ub4dor" + "&3x"
CARD = 4111111111111111


def nested(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = [value]
    return value


def rules(*pairs: str) -> Policy:
    own, words = read_pairs(pairs)
    return Policy(own, words=words)


def guard_json(value: Any, policy: Policy, *, field: str) -> tuple[Any, tuple[TextFinding, ...]]:
    admitted = admit(value, Door.AGENT, policy, field=field)
    return admitted.value, admitted.findings


def mask_all(value: Any, policy: Policy) -> Any:
    return admit(value, Door.AGENT, policy, on_hold=OnHold.MASK).value


@pytest.mark.parametrize("depth", [19, 21, 60, MAX_DEPTH])
def test_a_secret_is_masked_however_deep_it_is(depth: int) -> None:
    safe, found = guard_json({"a": nested(TOKEN, depth - 1)}, Policy(), field="metadata")
    assert TOKEN not in str(safe)
    assert [each.kind for each in found] == ["github-token"]


def test_what_is_nested_deeper_is_refused_and_in_unasked_texts_becomes_text() -> None:
    deep = {"a": nested(TOKEN, MAX_DEPTH + 1)}
    with pytest.raises(InvalidInput, match="'metadata' is nested more than 100 levels deep"):
        guard_json(deep, Policy(), field="metadata")
    assert TOKEN not in str(mask_all(deep, Policy()))


def test_numbers_are_read_as_text() -> None:
    value = {"card": CARD, "count": 12, "paid": True, "rate": 0.5}
    with pytest.raises(SensitiveText, match=r"metadata\.card"):
        guard_json(value, rules("personal=refuse"), field="metadata")
    safe, found = guard_json(value, rules("personal=mask"), field="metadata")
    assert safe["card"].startswith("[card-number:")
    assert {name: safe[name] for name in ("count", "paid", "rate")} == {
        "count": 12,
        "paid": True,
        "rate": 0.5,
    }
    assert [each.field for each in found] == ["metadata.card"]
    assert guard_json(value, Policy(), field="metadata")[0] == value  # by default it is labelled
    assert mask_all(value, rules("personal=mask"))["card"].startswith("[card-number:")


@pytest.mark.parametrize(
    "value",
    [
        {"env": [{"name": "DB_PASSWORD", "value": PASSWORD}]},
        {"key": "db-password", "value": PASSWORD},
        {"password": PASSWORD},
        {"passwords": [PASSWORD]},
    ],
)
def test_a_name_in_the_same_object_gives_a_password_away(value: Any) -> None:
    with pytest.raises(SensitiveText):
        guard_json(value, Policy(), field="metadata")
    assert PASSWORD not in str(mask_all(value, Policy()))
