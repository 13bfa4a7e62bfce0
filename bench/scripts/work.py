"""The work of bench.scripts in one home: `python -m bench.scripts.work [REPORT]`; prints the table's rows as JSON."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import django

django.setup()  # LOCI_HOME and DJANGO_SETTINGS_MODULE are set by bench/proof/home.py

# Only after Django is set up can these be imported.
from access.tokens import operator  # noqa: E402
from bench.evaluate.tables import write_between_marks  # noqa: E402
from bench.scripts.facts import FACTS, Fact  # noqa: E402
from memories.draft import Draft  # noqa: E402
from memories.embedding import get_encoder  # noqa: E402
from memories.models import Memory  # noqa: E402
from memories.queries.visibility import recallable_by  # noqa: E402
from memories.recall import rank_keys  # noqa: E402
from memories.recall.question import understand  # noqa: E402
from memories.recall.trace import Trace  # noqa: E402
from memories.store.bulk import store_many  # noqa: E402

GROUP = "facts"
HEAD = ["facts in", "questions", "words: first", "words: among five", "hybrid: first", "hybrid: among five"]


def main(report: Sequence[str]) -> None:
    """Store, ask, score."""
    texts = [fact.text for facts in FACTS.values() for fact in facts]
    stored = store_many(operator(), [Draft(text, group=GROUP, scope="group") for text in texts])
    if stored.created != len(texts):
        raise SystemExit(f"{stored.created} of {len(texts)} facts were stored")
    rows = [HEAD]
    for name, facts in FACTS.items():
        shares = [share for mode in ("keyword", "hybrid") for share in _shares(facts, mode)]
        rows.append([name, str(len(facts)), *(f"{100 * share:.0f}" for share in shares)])
    if report:
        write_between_marks(Path(report[0]), {"scripts": rows})
    print(json.dumps(rows))


def _shares(facts: Sequence[Fact], mode: str) -> list[float]:
    """The shares of the questions whose fact is the first, and among the first five."""
    visible = recallable_by(operator(), Memory.objects.select_related("group")[0].group)
    names = dict(Memory.objects.values_list("key", "content"))
    encoder = get_encoder(timeout_s=60.0)
    first = among = 0
    for fact in facts:
        question = understand(fact.question, encoder=encoder)
        found = [names[key] for key, _ in rank_keys(question, visible, mode=mode, trace=Trace())[:5]]
        first += found[:1] == [fact.text]
        among += fact.text in found
    return [first / len(facts), among / len(facts)]


if __name__ == "__main__":
    main(sys.argv[1:])
