"""Work on the target in processes of their own: each process of Loci knows one database."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from access.errors import Unavailable
from access.tokens import operator
from memories.embedding import ModelUnavailable, get_encoder
from memories.language.cleaning import first_words
from memories.models import Memory
from memories.recall import RecallRequest, recall
from memories.types import State

_CHECKED_QUESTIONS: Final = 100
QUESTION_WORDS: Final = 12
_MODEL_S: Final = 120
_DOCTOR: Final = ["-m", "django", "doctor", "--json"]
ANSWERS: Final = [
    "-c",
    "import django; django.setup(); from maintenance.backups.moving import processes; processes.print_answers()",
]
ROOT: Final = Path(__file__).resolve().parents[3]  # where the packages are


class _GroupQuestion(NamedTuple):
    """A question for one group."""

    text: str
    group: str


def migrate_target(environment: Mapping[str, str]) -> None:
    """Make the tables, or bring them up to date."""
    _run(["-m", "django", "migrate", "-v0", "--skip-checks"], environment)


def target_faults(environment: Mapping[str, str]) -> list[str]:
    """What the doctor finds wrong in the target and not in the store."""
    here, there = (_wrong_checks(_run(_DOCTOR, each, may_fail=True)) for each in ({}, environment))
    return [f"{check}: {detail}" for check, detail in there.items() if check not in here]


def _wrong_checks(told: str) -> dict[str, str]:
    """The details of the checks that found something wrong."""
    findings = json.loads(told)["findings"]
    return {each["check"]: each["detail"] for each in findings if each["verdict"] == "wrong"}


def pick_questions() -> list[_GroupQuestion]:
    """Beginnings of live memories, spread over the store, as questions."""
    live = Memory.objects.filter(state=State.LIVE).order_by("key")
    every = max(1, live.count() // _CHECKED_QUESTIONS)
    keys = list(live.values_list("key", flat=True))[::every][:_CHECKED_QUESTIONS]
    rows = Memory.objects.filter(key__in=keys).order_by("key").values_list("content", "group__slug")
    return [_GroupQuestion(first_words(text, QUESTION_WORDS), slug) for text, slug in rows]


def overlap_of_answers(questions: Sequence[_GroupQuestion], environment: Mapping[str, str]) -> float:
    """The mean share of the memories of the store's answers that the target's have too; 1.0 without questions."""
    if not questions:
        return 1.0
    asked = json.dumps(questions)
    here, there = (json.loads(_run(ANSWERS, each, stdin=asked)) for each in ({}, environment))
    shares = [len({*old} & {*new}) / len(old) for old, new in zip(here, there, strict=True) if old]
    return sum(shares) / len(shares) if shares else 1.0


def print_answers() -> None:
    """Read a JSON list of questions and groups; write a list of lists of ids. Nothing is logged or counted."""
    questions = json.load(sys.stdin)
    with suppress(ModelUnavailable):  # on a busy machine the first answers would be by keywords alone
        get_encoder(timeout_s=_MODEL_S)
    asked = [RecallRequest(text, group=group, max_results=10, is_trial=True) for text, group in questions]
    found = [[str(item.memory.id) for item in recall(operator(), request).items] for request in asked]
    sys.stdout.write(json.dumps(found))


def _run(
    arguments: Sequence[str], environment: Mapping[str, str], *, stdin: str = "", may_fail: bool = False
) -> str:
    """The output of a Python process of Loci with these variables; Unavailable if it fails."""
    around: dict[str, Any] = {**os.environ, "DJANGO_SETTINGS_MODULE": "loci_site.settings", **environment}
    done = subprocess.run(  # noqa: S603 - our own interpreter and modules
        [sys.executable, *arguments],
        cwd=ROOT,
        env=around,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and not may_fail:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise Unavailable(f"The target cannot be used: {lines[-1]}", hint="The store is unchanged.")
    return done.stdout
