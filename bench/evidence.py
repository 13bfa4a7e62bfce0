"""Whether files stored as evidence change what recall finds among memories: they must not.

Each set is measured twice in one database, before and after a folder (by default this repository's docs) is ingested into
its groups; rankings and answers must be the same, id by id. A third column shows how often `kinds` then adds evidence.

    python -m bench.evidence bench/evaluate/sets/team bench/evaluate/sets/faq --write-docs docs/how-to/artifacts.md

It needs LOCI_HOME with a model; the store there is not touched.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

FILES: Final = Path(__file__).resolve().parent.parent / "docs"
TABLE: Final = "evidence"


@dataclass(frozen=True)
class BesideFigures:
    """A set without and with evidence beside: scores in percent, and the questions whose ranking or answer differs."""

    set: str
    questions: int
    chunks: int
    before: dict[str, float]
    after: dict[str, float]
    different: int
    with_evidence: int
    slower: float  # median time of a search after, as a multiple of before

    def as_row(self) -> list[str]:
        """A row of the table."""
        pairs = (f"{each['R@10']:.1f} / {each['MRR']:.1f}" for each in (self.before, self.after))
        return [
            self.set, str(self.questions), f"{self.chunks:,}", *pairs, str(self.different), str(self.with_evidence),
        ]  # fmt: skip


HEAD: Final = [
    "set", "questions", "chunks beside", "without, R@10 / MRR", "with, R@10 / MRR", "questions that differ",
    "questions for which `kinds` adds evidence",
]  # fmt: skip


def measure(folder: Path, files: Path, *, limit: int | None = None) -> BesideFigures:
    """Measure one set in a database of its own, before and after ingesting the files into each of its groups."""
    from access.tokens import operator  # noqa: PLC0415 - Django is set up only then
    from bench.evaluate.question_files import read_queries  # noqa: PLC0415 - Django is set up only then
    from bench.evaluate.run import ask_all, run_queries, store_corpus  # noqa: PLC0415 - Django is set up only then
    from bench.evaluate.scratch_database import scratch_database  # noqa: PLC0415 - Django is set up only then
    from memories.embedding import get_encoder  # noqa: PLC0415 - Django is set up only then
    from sources.artifacts.ingest import ingest_path  # noqa: PLC0415 - Django is set up only then
    from sources.models import Chunk  # noqa: PLC0415 - Django is set up only then

    actor, encoder = operator(), get_encoder(timeout_s=60)
    queries = read_queries(folder, limit=limit).answerable
    with scratch_database():
        store_corpus(actor, folder, encoder=encoder, progress=show)
        run_queries(
            actor, queries, mode="hybrid", encoder=encoder, progress=show
        )  # until vectors are in memory
        looks: list[tuple[Any, list[list[str]]]] = []
        for is_beside in (False, True):
            if is_beside:
                for slug in sorted({query.group for query in queries}):
                    ingest_path(actor, files, group=slug)
            report = run_queries(actor, queries, mode="hybrid", encoder=encoder, progress=show)
            looks.append((report, ask_all(actor, queries, mode="hybrid", progress=show)))
        (before, answers), (after, later) = looks
        different = sum(
            before.run[query.id] != after.run[query.id] or old != new
            for query, old, new in zip(queries, answers, later, strict=True)
        )
        return BesideFigures(
            set=folder.absolute().name,
            questions=len(queries),
            chunks=Chunk.objects.count(),
            before=percent(before.scores),
            after=percent(after.scores),
            different=different,
            with_evidence=count_with_evidence(actor, queries, answers),
            slower=median(after.times_ms) / median(before.times_ms),
        )


def count_with_evidence(actor: Any, queries: Sequence[Any], answers: Sequence[list[str]]) -> int:
    """The questions that get chunks too if they ask for both; their memories must be those of recall alone."""
    from memories.recall import RecallRequest  # noqa: PLC0415 - Django is set up only then
    from sources.artifacts.evidence import KINDS, recall_kinds  # noqa: PLC0415 - Django is set up only then

    found = 0
    for query, ids in zip(queries, answers, strict=True):
        request = RecallRequest(query=query.text, group=query.group, mode="hybrid", is_trial=True)
        wide = recall_kinds(actor, request, KINDS)
        given = [item.memory.source_ref for item in wide.recalled.items] if wide.recalled else []
        if given != ids:
            raise SystemExit(f"{query.id}: with kinds it gets other memories than without.")
        found += bool(wide.evidence and wide.evidence.items)
    return found


def percent(scores: dict[str, float]) -> dict[str, float]:
    """Scores in percent, unrounded: equal means equal."""
    return {name: 100 * value for name, value in scores.items()}


def show(step: str, done: int) -> None:
    """Progress, on one line."""
    if done % 50 == 0:
        print(f"\r{step} {done}   ", end="", file=sys.stderr, flush=True)


def main(words: Sequence[str] | None = None) -> int:
    """Measure, print, write the table; 1 if a figure differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="+", type=Path, metavar="SET")
    parser.add_argument("--files", type=Path, default=FILES, metavar="DIR", help="what is ingested beside")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N questions of each set")
    parser.add_argument("--write-docs", type=Path, metavar="FILE", help="write the table between its marks")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(words)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
    import django  # noqa: PLC0415 - Django is set up only then

    django.setup()
    from bench.evaluate.tables import as_markdown, write_between_marks  # noqa: PLC0415 - Django is set up only then

    found = [measure(folder, options.files, limit=options.limit) for folder in options.sets]
    rows = [HEAD, *(each.as_row() for each in found)]
    print(json.dumps([asdict(each) for each in found]) if options.json else as_markdown(rows))
    if options.write_docs:
        write_between_marks(options.write_docs, {TABLE: rows})
    return int(any(each.different or each.before != each.after for each in found))


if __name__ == "__main__":
    sys.exit(main())
