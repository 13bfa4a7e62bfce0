"""Count what patterns and reading find in lists that they were not made from: `python -m bench.guard.measure [FILE ...]`.

Each file has a JSON object with `text` (and maybe `manner`) on each line; by default the lists in `held/`. Whoever fits rules or
templates must not read those. Texts are cut into pieces as in a store, and embedded in this thread.
"""

import json
import os
import sys
from pathlib import Path
from threading import Event
from typing import Final

import django

HELD: Final = Path(__file__).parent / "held"


def main() -> None:
    """Print a line for each file."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
    django.setup()
    # After the settings.
    from guard import find, has_instruction  # noqa: PLC0415
    from guard.injection.reading import find_reading  # noqa: PLC0415
    from memories.embedding import get_encoder  # noqa: PLC0415

    encoder = get_encoder(timeout_s=60)
    for path in [Path(name) for name in sys.argv[1:]] or sorted(HELD.glob("*.jsonl")):
        texts = [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]
        spans = encoder.split_many(texts, reserves=[0] * len(texts))
        pieces = [text[span.start : span.end] for text, cut in zip(texts, spans, strict=True) for span in cut]
        vectors = encoder.encode_unless(pieces, Event())
        assert vectors is not None
        rest = iter(vectors)
        read = [  # each piece takes its vector, so none is left out once a finding is known
            sum(find_reading(text, (span.start, span.end), next(rest)) is not None for span in cut) > 0
            for text, cut in zip(texts, spans, strict=True)
        ]
        matched = [has_instruction(each.kind for each in find(text)) for text in texts]
        both = sum(one or other for one, other in zip(read, matched, strict=True))
        print(
            f"{path.name}: {len(texts)} texts, patterns {sum(matched)}, reading {sum(read)}, both {both}",
            flush=True,
        )
    os._exit(0)  # the encoder's threads are not waited for


if __name__ == "__main__":
    main()
