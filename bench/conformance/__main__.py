"""`python -m bench.conformance`: the table of the suite's scenarios, and a failure where a required one fails."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from bench.conformance.suite import ScenarioResult, SuiteError, run_suite

EXAMPLES = """examples:
  python -m bench.conformance
  python -m bench.conformance --json > conformance.json
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when every required scenario is green, 1 when one is not, 2 when the suite could not be run."""
    options = _parser().parse_args(arguments)
    try:
        results = run_suite(options.requirements, progress=_show_progress)
    except SuiteError as error:
        _end_progress()
        print(error, file=sys.stderr)
        return 2
    _end_progress()
    print(_as_json(options.requirements, results) if options.json else _as_table(results))
    return 0 if all(result.is_green for result in results if result.is_required) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.conformance",
        description="Run the protocol's conformance suite through Loci's MCP bridge.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--requirements", default="2026-07-28", metavar="REVISION", help="default: %(default)s"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    return parser


def _as_table(results: Sequence[ScenarioResult]) -> str:
    width = max(len("scenario"), *(len(result.name) for result in results))
    lines = [f"{'scenario':{width}}  passed  warned  failed"]
    for result in results:
        row = f"{result.name:{width}}  {result.passed:6}  {result.warnings:6}  {len(result.failures):6}"
        lines.append(row if result.is_required else f"{row}  not scored: {result.note}")
        if result.is_required:
            lines += [f"    {failure}" for failure in result.failures]
    return "\n".join([*lines, "", _summary(results)])


def _summary(results: Sequence[ScenarioResult]) -> str:
    required = [result for result in results if result.is_required]
    others = [result for result in results if not result.is_required]
    return (
        f"required: {sum(result.is_green for result in required)} of {len(required)} scenarios green; "
        f"not scored: {sum(result.is_green for result in others)} of {len(others)}; "
        f"checks: {sum(result.passed for result in results)} passed, "
        f"{sum(len(result.failures) for result in required)} failed in required scenarios, "
        f"{sum(len(result.failures) for result in others)} in the others"
    )


def _as_json(revision: str, results: Sequence[ScenarioResult]) -> str:
    scenarios = [
        {**asdict(result), "required": result.is_required, "green": result.is_green} for result in results
    ]
    return json.dumps({"requirements": revision, "scenarios": scenarios}, indent=2)


def _show_progress(text: str) -> None:
    end = "" if sys.stderr.isatty() else "\n"
    start = "\r\033[K" if sys.stderr.isatty() else ""
    print(f"{start}conformance: {text}", end=end, file=sys.stderr, flush=True)


def _end_progress() -> None:
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
