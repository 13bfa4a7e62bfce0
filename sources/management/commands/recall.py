"""`manage.py recall`: ask a question."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from access.management.command import GROUP, SOURCE, THREAD, CommandAnswer, flag, many, option
from access.tokens import local_operator
from access.visibility import Narrowing
from memories.language.cleaning import parse_moment
from memories.management.field_options import AS_OF, KNOWN_AT
from memories.management.output import (
    NOTHING_FOUND,
    FaceCommand,
    printable,
    read_text,
    table_text,
    terminal_columns,
    wrap_text,
)
from memories.queries.conflicts import describe_start
from memories.recall import Item, RecallRequest, RecallResult
from memories.recall.scoring import MODES, Trace
from memories.types import Scope, Type
from sources.artifacts.evidence import EVIDENCE_ALONE, KINDS, EvidenceItem, recall_kinds, wide_json

EXAMPLES: Final = """\
examples:
  loci recall "which database do we use?" --group ledger
  loci recall "deploy port" --type semantic --max-results 3
  loci recall "who decided that?" --as-of 2026-03-01T00:00:00Z
  loci recall "deploy port" --explain
  loci recall "where is the VAT computed?" --kind memories --kind evidence
  loci recall "deploy port" --json | jq -r '.results[].content'

exit status: 0 found (even if nothing fits --token-budget), 3 nothing relevant, 1 an error, 2 wrong usage
"""
_MOMENTS: Final = ("as_of", "known_at", "after", "before")


class Command(FaceCommand):
    """Recalls and prints the results, best first."""

    help = "Recall the memories that answer a question."
    examples = EXAMPLES
    uses_model = True

    options = (
        option("query", help="a question or words; - reads standard input"),
        GROUP,
        many("--type", None, "of this type", choices=Type.values),
        many("--tag", "WORD", "with this tag; all must match"),
        many("--kind", None, "default: memories", choices=KINDS),
        option("--scope", choices=Scope.values),
        option("--mode", choices=MODES, help="default: the setting retrieval.mode"),
        option("--max-results", type=int, metavar="N"),
        option("--token-budget", type=int, metavar="N"),
        flag("--summary-only", "only the start of each text"),
        option("--min-confidence", type=float, default=0.0, metavar="0..1"),
        option("--min-importance", type=int, default=0, metavar="0..10"),
        THREAD.but(help="only memories of this thread"),
        SOURCE,
        AS_OF,
        KNOWN_AT,
        option("--after", metavar="TIME", read=parse_moment, help="only what happened, or was stored, since then"),
        option("--before", metavar="TIME", read=parse_moment, help="only what happened, or was stored, before then"),
        flag("--include-orphans", "also memories of commits that the branch of this folder does not contain"),
        flag("--explain", "explain the results"),
    )  # fmt: skip

    def act(self, options: dict[str, Any]) -> CommandAnswer:
        answer = recall_kinds(local_operator(), _read_request(options), options["kind"])
        recalled, evidence = answer.recalled, answer.evidence
        items = evidence.items if evidence else ()
        is_shown = recalled.mode != EVIDENCE_ALONE or recalled.abstained
        lines = [
            *(_recall_lines(recalled) if is_shown else ()),
            *(line for each in items for line in _evidence_lines(each)),
        ]
        status = NOTHING_FOUND if recalled.abstained and not items else 0
        return CommandAnswer(wide_json(answer), "\n".join(lines), status=status)


def _evidence_lines(item: EvidenceItem) -> Iterator[str]:
    yield f"  ▪ {_facts([item.locator, item.source, item.heading, f'score {item.score:.4f}', item.label])}"
    for line in item.text.split("\n"):
        yield f"    {printable(line)}"[: terminal_columns()].rstrip()


def _recall_lines(recalled: RecallResult) -> Iterator[str]:
    if recalled.degraded:
        yield f"Degraded: {printable(recalled.degraded)}."
    if recalled.note:
        yield printable(recalled.note)
    elif recalled.abstained:
        closest = " Closest matches (low confidence):" if recalled.nearest else ""
        yield f"Nothing relevant in {printable(recalled.group)}.{closest}"
    elif recalled.doubt:
        yield f"{printable(recalled.doubt)}."
    for each in recalled.relations:
        yield f"  • {printable(each.text)}"
        facts = ["relation", each.group, f"{each.since:%Y-%m-%d}", f"by {each.author}", each.trust]
        yield f"    {_facts([str(each.id), *facts, *map(str, each.evidence)])}"
    if recalled.collects:
        yield f"Collected, {recalled.collects}:"
    for rank, item in enumerate(recalled.items or recalled.nearest, start=1):
        yield from _item_lines(rank, item)
    if recalled.left_out:
        yield _describe_left_out(recalled)
    if recalled.trace is not None:
        yield from _trace_lines(recalled, recalled.trace)


def _item_lines(rank: int, item: Item) -> Iterator[str]:
    memory, mark = item.memory, f"{rank:>2}. "
    indent = " " * len(mark)

    def wrapped(text: str) -> list[str]:
        return [indent + line for line in wrap_text(text, width=terminal_columns() - len(mark))]

    for turn in item.around:
        if turn.offset < 0:
            yield from wrapped(f"| {turn.text}")
    yield mark + "\n".join(wrapped(item.text))[len(mark) :]  # instead of the first indent
    for turn in item.around:
        if turn.offset > 0:
            yield from wrapped(f"| {turn.text}")
    yield indent + _facts(
        [
            str(memory.id),
            memory.type,
            memory.group.slug,
            f"{memory.moment:%Y-%m-%d}",
            f"score {item.score:.4f}",
            item.label,
            *(conflict.note for conflict in item.conflicts),
        ]
    )
    if item.also_in:
        yield indent + f"also said in {', '.join(str(m.id) for m in item.also_in)}"
    if item.events:
        yield indent + f"summary of {', '.join(str(m.id) for m in item.events)}"
    if item.coming is not None:
        yield from wrapped(f"{describe_start(item.coming)}: {item.coming.content}")


def _facts(facts: Iterable[str]) -> str:
    return " · ".join(printable(fact) for fact in facts if fact)


def _trace_lines(recalled: RecallResult, trace: Trace) -> Iterator[str]:
    steps = [[step.name, _describe_detail(step.detail)] for step in trace.steps]
    yield from ("", "Steps", table_text(steps, header=("step", "what it did")))
    names = sorted({name for item in recalled.items for name in item.numbers})
    if names:
        rows = [
            [str(rank), *(f"{item.numbers[n]:g}" if n in item.numbers else "–" for n in names)]
            for rank, item in enumerate(recalled.items, start=1)
        ]
        yield from ("", "Scores", table_text(rows, header=("#", *names)))


def _read_request(options: dict[str, Any]) -> RecallRequest:
    narrowing = Narrowing(
        types=frozenset(options["type"]),
        scope=options["scope"] or "",
        tags=frozenset(tag.lower() for tag in options["tag"]),
        min_confidence=options["min_confidence"],
        min_importance=options["min_importance"],
        thread=options["thread"],
        source=options["source"],
        include_orphans=options["include_orphans"],
        **{name: options[name] for name in _MOMENTS},
    )
    return RecallRequest(
        read_text(options["query"], field="query"),
        group=options["group"],
        narrowing=narrowing,
        max_results=options["max_results"],
        token_budget=options["token_budget"],
        summary_only=options["summary_only"],
        explain=options["explain"],
        mode=options["mode"],
    )


def _describe_left_out(recalled: RecallResult) -> str:
    if recalled.items or recalled.nearest:
        return f"{recalled.left_out} more did not fit the token budget (--token-budget)."
    found = "of the closest matches" if recalled.abstained else f"found in {printable(recalled.group)}"
    return f"{recalled.left_out} {found}, but none fits the token budget: raise --token-budget, or use --summary-only."


def _describe_detail(detail: dict[str, Any]) -> str:
    """A step's values on one line, without the empty ones."""
    return ", ".join(f"{name} {value}" for name, value in detail.items() if value not in ("", [], {}, None))
