"""The process that reads watched folders and writes rooms: `python -m loci_site.worker.files`."""

import argparse
import logging
import signal
import threading
from collections.abc import Sequence
from types import FrameType

import django

from loci_site.server.process import end_with_parent, prefer_other_processes


def main(argv: Sequence[str] | None = None) -> None:
    """Watch until a signal arrives or nothing is left to watch."""
    parser = argparse.ArgumentParser(prog="python -m loci_site.worker.files")
    parser.add_argument("--parent", type=int, default=0, help="end with this process")
    parent = parser.parse_args(argv).parent
    if parent:
        end_with_parent(parent)
    django.setup()
    # These need the apps.
    from memories.embedding.concurrency import spare_a_core  # noqa: PLC0415
    from sources.rooms.room import refresh_rooms  # noqa: PLC0415
    from sources.watching.loop import WatchLoop  # noqa: PLC0415

    prefer_other_processes()
    spare_a_core()
    stop = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    WatchLoop(stop, refresh_rooms).run()
    logging.getLogger(__name__).info("Watching has ended.")


if __name__ == "__main__":
    main()
