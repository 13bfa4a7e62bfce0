"""How the runner of the conformance suite reads which scenarios count."""

from bench.conformance.__main__ import _as_table
from bench.conformance.requirements import parse_requirements
from bench.conformance.suite import ScenarioResult

LINES = """\
# A comment.
server:
  - tools-list
  - caching

client:
  - tools_call

not_scored:
  - scenario: auth/dpop
    leg: client
    reason: extension
  - scenario: tasks-lifecycle
    leg: server
    reason: extension
    note: >-
      some text: with a colon
"""


def test_the_servers_scenarios_are_read_in_their_order() -> None:
    wanted = parse_requirements(LINES.splitlines())
    assert wanted.required == ("tools-list", "caching")
    assert wanted.not_scored == {"tasks-lifecycle": "extension"}
    assert wanted.scenarios == ("tools-list", "caching", "tasks-lifecycle")


def test_a_scenario_that_checked_nothing_is_not_green() -> None:
    assert not ScenarioResult("caching", "required", passed=0, warnings=0, failures=()).is_green


def test_the_table_shows_why_a_required_scenario_failed() -> None:
    results = [
        ScenarioResult("caching", "required", passed=7, warnings=1, failures=("ttl: no ttlMs",)),
        ScenarioResult("tasks", "extension", passed=0, warnings=0, failures=("a: b", "c: d")),
    ]
    assert _as_table(results).splitlines() == [
        "scenario  passed  warned  failed",
        "caching        7       1       1",
        "    ttl: no ttlMs",
        "tasks          0       0       2  not scored: extension",
        "",
        "required: 0 of 1 scenarios green; not scored: 0 of 1; "
        "checks: 7 passed, 1 failed in required scenarios, 2 in the others",
    ]
