"""CPU time of the browser's pages over the store in LOCI_HOME: `python -m bench.speed.pages [--against CHECKOUT]`.

Each page is requested ROUNDS times in one process with Django's test client, after two that are not counted. With
`--against`, the code of another checkout (an earlier commit, whose tables the store still fits) does the same on the same store, in
turns with this one, and the ratios are printed. Use a store that may be written: it gets a superuser `bench`, and searches are logged.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

HERE: Final = Path(__file__).parents[2]
ROUNDS, BLOCKS = 15, 6
PAGES: Final = {
    "dashboard": "/admin/",
    "memories": "/admin/memories/memory/",
    "memories, second page": "/admin/memories/memory/?p=2",
    "memories, by group": "/admin/memories/memory/?group={group}",
    "memories, by state": "/admin/memories/memory/?state=live",
    "memories, search": "/admin/memories/memory/?q={word}",
    "one memory": "/admin/memories/memory/{key}/change/",
    "groups": "/admin/explore/groups/",
    "Review": "/admin/review/",
    "timeline": "/admin/explore/timeline/",
    "audit log": "/admin/access/auditentry/",
    "workspace, search": "/app/?q={word}",
}


def main(arguments: Sequence[str]) -> None:
    """Measure in turns and print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.speed.pages", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--against", type=Path, help="a checkout of an earlier commit")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        work()
        return
    checkouts = [HERE, *([options.against.absolute()] if options.against else [])]
    blocks: list[list[dict[str, float]]] = [[] for _ in checkouts]
    for number in range(BLOCKS):
        for at in range(len(checkouts)) if number % 2 == 0 else reversed(range(len(checkouts))):
            blocks[at].append(measured_by(checkouts[at]))
    for page in PAGES:
        mine = [block[page] for block in blocks[0]]
        line = f"{page:24} {median(mine):7.1f} ms"
        if len(blocks) > 1:
            ratios = [one / other[page] for one, other in zip(mine, blocks[1], strict=True)]
            line += (
                f"   {median(ratios):.2f} of the other checkout's ({min(ratios):.2f} to {max(ratios):.2f})"
            )
        print(line)


def measured_by(checkout: Path) -> dict[str, float]:
    """The milliseconds of each page by the code of a checkout, in a process of its own."""
    command = [sys.executable, str(Path(__file__).absolute()), "--work"]
    environment = os.environ | {
        "PYTHONPATH": str(checkout),
        "DJANGO_SETTINGS_MODULE": "loci_site.settings",
        "LOCI_LOG_LEVEL": "ERROR",
    }
    done = subprocess.run(
        command, cwd=checkout, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def work() -> None:
    """Request every page and print the medians of their CPU time in milliseconds, as JSON."""
    import django  # noqa: PLC0415 - the code of the checkout that this process is for

    django.setup()
    from django.contrib.auth.models import User  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415

    from memories.models import Memory  # noqa: PLC0415

    user, _ = User.objects.get_or_create(username="bench", defaults={"is_superuser": True})
    User.objects.filter(pk=user.pk).update(is_staff=True, is_superuser=True)
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(User.objects.get(pk=user.pk))
    first = Memory.objects.order_by("-key").select_related("group")[0]
    names = {
        "key": first.id,
        "group": first.group.slug,
        "word": max(first.content.split(), key=len).strip(".,"),
    }
    medians = {}
    for name, address in PAGES.items():
        times = []
        for _ in range(ROUNDS + 2):
            began = time.process_time()
            answer = client.get(address.format(**names))
            times.append((time.process_time() - began) * 1000)
            if answer.status_code != 200:
                raise SystemExit(f"{name}: {address.format(**names)} answered {answer.status_code}")
        medians[name] = median(times[2:])
    print(json.dumps(medians), flush=True)
    os._exit(0)  # the encoder's threads are not waited for


if __name__ == "__main__":
    main(sys.argv[1:])
