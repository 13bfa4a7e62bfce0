"""How the runner of the conformance suite reads which scenarios count."""

from bench.conformance.prove import ScenarioResult, judge, parse_requirements

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
    wanted = parse_requirements(LINES)
    assert [*wanted.items()] == [
        ("tools-list", "required"),
        ("caching", "required"),
        ("tasks-lifecycle", "extension"),
    ]


def test_a_scenario_that_checked_nothing_is_not_green() -> None:
    assert not ScenarioResult("caching", "required", passed=0, failures=()).is_green


def test_only_required_scenarios_are_faults() -> None:
    found = judge(
        [
            ScenarioResult("caching", "required", passed=7, failures=("ttl: no ttlMs",)),
            ScenarioResult("tools-list", "required", passed=0, failures=()),
            ScenarioResult("tasks", "extension", passed=0, failures=("a: b", "c: d")),
        ]
    )
    assert found.faults == ("caching: ttl: no ttlMs", "tools-list: nothing was checked")
    assert (found.numbers["required scenarios"], found.numbers["of these green"]) == (2, 0)
    assert judge([]).faults == ("the suite has no required scenario",)
