"""The process that reads watched folders and writes rooms."""

import logging
import threading

from memories.embedding.concurrency import spare_a_core
from sources.rooms.room import refresh_rooms
from sources.watching.loop import WatchLoop

logger = logging.getLogger(__name__)


def run(stop: threading.Event) -> None:
    """Watch until `stop`, or until nothing is left to watch."""
    spare_a_core()
    WatchLoop(stop, refresh_rooms).run()
    logger.info("Watching has ended.")
