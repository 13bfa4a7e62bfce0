"""The work of bench.groups in one home: `python -m bench.groups.work FOLDER SPLIT`; prints a row for each penalty as JSON."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import django

django.setup()

from access.groups import find_group  # noqa: E402
from access.tokens import operator  # noqa: E402
from bench.evaluate.metrics import score_ranking  # noqa: E402
from bench.evaluate.question_files import read_queries  # noqa: E402
from bench.evaluate.run import store_corpus  # noqa: E402
from memories.embedding import get_encoder  # noqa: E402
from memories.models import Memory  # noqa: E402
from memories.queries.visibility import recallable_by  # noqa: E402
from memories.recall.pipeline import CandidateSet, current_tuning, gather, score_candidates  # noqa: E402
from memories.recall.question import Question, understand  # noqa: E402
from memories.recall.trace import Trace  # noqa: E402

PENALTIES = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
Asked = tuple[Question, CandidateSet, tuple[str, ...]]


def main(folder: Path, split: str) -> None:
    """Store, make all of it global, ask, score."""
    actor, encoder = operator(), get_encoder(timeout_s=60.0)
    store_corpus(actor, folder, encoder=encoder, progress=lambda name, done: None)
    Memory.objects.update(scope="global")
    names = dict(Memory.objects.values_list("key", "source_ref"))
    queries = read_queries(folder, split=split).asked
    slugs = sorted({query.group for query in queries})
    if len(slugs) < 2:
        raise SystemExit("the questions are all of one group; another one is needed to ask in")
    groups = {slug: recallable_by(actor, find_group(actor, slug)) for slug in slugs}
    own, other = list[Asked](), list[Asked]()
    for query in queries:
        question = understand(query.text, encoder=encoder)
        elsewhere = slugs[(slugs.index(query.group) + 1) % len(slugs)]
        for slug, asked in ((query.group, own), (elsewhere, other)):
            found = gather(question, groups[slug], mode="hybrid", trace=Trace())
            asked.append((question, found, query.relevant))
    rows = [
        [penalty, *_scores(own, names, penalty), *_scores(other, names, penalty)] for penalty in PENALTIES
    ]
    print(json.dumps(rows))


def _scores(asked: list[Asked], names: dict[int, str], penalty: float) -> list[float]:
    """R@10 and MRR in percent."""
    tuning = replace(current_tuning(), elsewhere_penalty=penalty)
    each = []
    for question, found, relevant in asked:
        ranked = score_candidates(found, question, mode="hybrid", tuning=tuning, trace=Trace()).scores[:100]
        each.append(score_ranking([names[key] for key, _ in ranked], relevant))
    return [round(100 * fmean(scores[name] for scores in each), 1) for name in ("R@10", "MRR")]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
