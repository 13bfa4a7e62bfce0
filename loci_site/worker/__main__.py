"""`python -m loci_site.worker jobs`, or `… files`: a background process that ends with a signal, or with its parent."""

import argparse
import os
import signal
import threading
from collections.abc import Sequence
from importlib import import_module
from types import FrameType

import django

from loci_site.server.process import end_with_parent, prefer_other_processes


def main(argv: Sequence[str] | None = None) -> None:
    """Work until a signal arrives."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
    parser = argparse.ArgumentParser(prog="python -m loci_site.worker")
    parser.add_argument("work", choices=("jobs", "files"))
    parser.add_argument("--parent", type=int, default=0, help="end with this process")
    options = parser.parse_args(argv)
    if options.parent:
        end_with_parent(options.parent)
    stop = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    django.setup()
    prefer_other_processes()
    import_module(f"loci_site.worker.{options.work}").run(stop)  # it needs the apps


if __name__ == "__main__":
    main()
