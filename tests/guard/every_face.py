"""Drives every face of a store with sensitive texts, in a process of its own: `python -m tests.guard.every_face`.

Standard input: JSON with the values by family. Standard output: JSON with every answer, those to agents apart. The home is
LOCI_HOME; it is left as the work left it, with its write-ahead log.
"""

import contextlib
import io
import itertools
import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import django

from tests.sizes import IS_WHOLE

MESSAGES = ("The build of {} uses {}.", "Remember for {}: {}", "{} was told {} today.")
Send = Callable[[str], Any]


def text_with(value: str, number: int) -> str:
    """A sentence around a value; each is another fact."""
    return MESSAGES[number % len(MESSAGES)].format(f"harbour {number}", value)


def main() -> None:
    values: dict[str, list[str]] = json.load(sys.stdin)
    django.setup()
    logging.basicConfig(filename=Path(os.environ["LOCI_HOME"]) / "debug.log", level=logging.DEBUG, force=True)
    from tests.guard.faces import agent_readings, faces, people_readings, prepare, wind_up

    world = prepare()
    answers = list[str]()
    numbers = itertools.count(1)
    shares = {name: itertools.cycle(each) for name, each in values.items()}
    left = {name: len(each) for name, each in values.items()}
    rounds = max(-(-len(each) // len(faces(world))) for each in values.values())
    with tempfile.TemporaryDirectory() as outside:
        for number in range(rounds):
            for name, send in faces(world, Path(outside)).items():
                for family, share in shares.items():
                    if family == "injected" and name == "rest instructions":
                        continue  # they are meant to instruct
                    if number and left[family] <= 0 and not IS_WHOLE:
                        continue  # each face got one of the family, and each of its values came in
                    left[family] -= 1
                    answers.append(f"{name}: {tried(send, text_with(next(share), next(numbers)))}")
    agents = [str(each) for each in agent_readings(world)]
    people = [str(each) for each in people_readings(world)]
    out = wind_up(world)
    json.dump({"answers": answers, "agents": agents, "people": people, "commands": out}, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # no clean end: the write-ahead log stays as a kill leaves it


def tried(send: Send, text: str) -> str:
    """What a face answers, a refusal too."""
    try:
        return repr(send(text))
    except (SystemExit, Exception) as error:
        return repr(error)


@contextlib.contextmanager
def captured() -> Iterator[io.StringIO]:
    """What commands print."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        yield out


if __name__ == "__main__":
    main()
