"""`manage.py recall`: ask a question."""

from typing import Any, Final

from access.management.command import GROUP, SOURCE, THREAD, flag, many, option
from access.tokens import local_operator
from access.visibility import Narrowing
from memories.language.cleaning import parse_moment
from memories.management.field_options import AS_OF, KNOWN_AT
from memories.management.output import (
    NOTHING_FOUND,
    FaceCommand,
    printable,
    read_text,
    terminal_columns,
    wrap_text,
)
from memories.queries.conflicts import describe_start
from memories.recall import Item, RecallRequest, RecallResult
from memories.recall.answer import NearTurn
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
MOMENTS: Final = ("as_of", "known_at", "after", "before")


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

    def act(self, options: dict[str, Any]) -> int:
        answer = recall_kinds(local_operator(), _read_request(options), options["kind"])
        recalled, evidence = answer.recalled, answer.evidence
        if options["json"]:
            self.print_json(wide_json(answer))
        else:
            if recalled.mode != EVIDENCE_ALONE or recalled.abstained:
                self._print(recalled)
            for item in evidence.items if evidence else ():
                self._print_evidence(item)
        return NOTHING_FOUND if recalled.abstained and not (evidence and evidence.items) else 0

    def _print_evidence(self, item: EvidenceItem) -> None:
        facts = [item.locator, item.source, item.heading, f"score {item.score:.4f}", item.label]
        self.stdout.write("  ▪ " + " · ".join(printable(fact) for fact in facts if fact))
        for line in item.text.split("\n"):
            self.stdout.write(f"    {printable(line)}"[: terminal_columns()].rstrip())

    def _print(self, recalled: RecallResult) -> None:
        if recalled.degraded:
            self.stdout.write(f"Degraded: {printable(recalled.degraded)}.")
        if recalled.note:
            self.stdout.write(printable(recalled.note))
        elif recalled.abstained:
            self.stdout.write(
                f"Nothing relevant in {printable(recalled.group)}."
                + (" Closest matches (low confidence):" if recalled.nearest else "")
            )
        elif recalled.doubt:
            self.stdout.write(f"{printable(recalled.doubt)}.")
        for line in recalled.relations:
            facts = [str(line.id), "relation", line.group, f"{line.since:%Y-%m-%d}", line.trust]
            self.stdout.write(f"  • {printable(line.text)}")
            self.stdout.write("    " + " · ".join(printable(fact) for fact in facts))
        if recalled.collects:
            self.stdout.write(f"Collected, {recalled.collects}:")
        for rank, item in enumerate(recalled.items or recalled.nearest, start=1):
            self._print_item(rank, item)
        if recalled.left_out:
            self.stdout.write(_describe_left_out(recalled))
        if recalled.trace is not None:
            self._print_trace(recalled, recalled.trace)

    def _print_item(self, rank: int, item: Item) -> None:
        memory, mark = item.memory, f"{rank:>2}. "
        indent = " " * len(mark)
        for turn in item.around:
            if turn.offset < 0:
                self._print_turn(turn, indent)
        for at, line in enumerate(wrap_text(item.text, width=terminal_columns() - len(mark))):
            self.stdout.write((mark if at == 0 else indent) + line)
        for turn in item.around:
            if turn.offset > 0:
                self._print_turn(turn, indent)
        facts = [
            str(memory.id),
            memory.type,
            memory.group.slug,
            f"{memory.moment:%Y-%m-%d}",
            f"score {item.score:.4f}",
            item.label,
            *(conflict.note for conflict in item.conflicts),
        ]
        self.stdout.write(indent + " · ".join(printable(fact) for fact in facts if fact))
        if item.also_in:
            self.stdout.write(indent + f"also said in {', '.join(str(m.id) for m in item.also_in)}")
        if item.coming is not None:
            text = f"{describe_start(item.coming)}: {item.coming.content}"
            for line in wrap_text(text, width=terminal_columns() - len(mark)):
                self.stdout.write(indent + line)

    def _print_turn(self, turn: NearTurn, indent: str) -> None:
        for line in wrap_text(f"| {turn.text}", width=terminal_columns() - len(indent)):
            self.stdout.write(indent + line)

    def _print_trace(self, recalled: RecallResult, trace: Trace) -> None:
        self.stdout.write("\nSteps")
        steps = [[step.name, _describe_detail(step.detail)] for step in trace.steps]
        self.print_table(steps, header=("step", "what it did"))
        names = sorted({name for item in recalled.items for name in item.numbers})
        if names:
            self.stdout.write("\nScores")
            rows = [
                [str(rank), *(f"{item.numbers[n]:g}" if n in item.numbers else "–" for n in names)]
                for rank, item in enumerate(recalled.items, start=1)
            ]
            self.print_table(rows, header=("#", *names))


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
        **{name: options[name] for name in MOMENTS},
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
