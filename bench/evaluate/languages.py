"""`python -m bench.evaluate.languages`: recall in eight languages, with the model in use.

30 statements of a team and 30 questions in other words, the same in each language, were written before anything was measured. In
a group of its own each language's statements stand among 556 English ones of three other sets ("de own"), and its questions
are asked of the English statements ("de across"). Arguments are those of bench.evaluate: --mode vector hybrid.
"""

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import django

SETS = Path(__file__).parent / "sets"
LANGUAGES = ("en", "de", "zh", "es", "fr", "pl", "ja", "ar")
OTHERS = ("team", "harbor", "faq")


def write_set(folder: Path) -> None:
    """Write the corpus and the questions of all languages as one set."""
    others = [row["text"] for name in OTHERS for row in read_lines(SETS / name / "corpus.jsonl")]
    facts = {language: read_lines(SETS / "languages" / f"{language}.jsonl") for language in LANGUAGES}
    corpus, questions = list[dict[str, object]](), list[dict[str, object]]()
    for language, rows in facts.items():
        texts = {f"{language}-{row['id']}": row["text"] for row in rows}
        texts |= {f"{language}-{at}": text for at, text in enumerate(others)}
        corpus += [{"id": key, "text": text, "group": language} for key, text in texts.items()]
        for row in rows:
            for kind, group in (("own", language), ("across", "en")):
                if kind == "own" or language != "en":
                    asked = {"id": f"{language}-{kind}-{row['id']}", "text": row["question"], "group": group}
                    answer = f"{group}-{row['id']}"
                    questions.append(asked | {"category": f"{language} {kind}", "relevant": [answer]})
    for name, lines in (("corpus", corpus), ("queries", questions)):
        written = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(written, encoding="utf-8")


def read_lines(file: Path) -> list[dict[str, str]]:
    """The objects of a file, one in each line."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
    django.setup()
    from bench.evaluate.command import Command

    with TemporaryDirectory() as work:
        (folder := Path(work) / "languages").mkdir()
        write_set(folder)
        Command().run_from_argv(["python -m", "bench.evaluate", str(folder), *sys.argv[1:]])
