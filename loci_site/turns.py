"""How long one thread may keep the interpreter while others wait for it."""

import sys

# A thread gives the interpreter up for each statement and waits a turn of every busy thread to get it back. With
# Python's turns of 5 ms a store of 50 statements beside eight busy threads took a second, part of it inside the write
# lock; with short ones a week of the simulated year went from 69 s to 6.
TURN_S = 0.0005


def take_short_turns() -> None:
    """Let the threads of this process take turns fast; for processes in which many threads ask the database."""
    sys.setswitchinterval(TURN_S)
