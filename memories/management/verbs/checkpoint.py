"""`loci memory checkpoint`: save the state of the work, or print the last one saved."""

import json
from typing import Any, Final

from access.errors import NotFound
from access.groups import find_group
from access.management.command import GROUP, THREAD, CommandAnswer, CommandVerb, option
from access.tokens import operator
from memories.browse.serializers import CheckpointOut, SavedOut
from memories.management.output import in_lines, printable, read_text
from memories.sessions.checkpoints import save_checkpoint
from memories.sessions.threads import latest_checkpoint


def checkpoint(options: dict[str, Any]) -> CommandAnswer:
    """Save a text or a JSON object as the newest checkpoint; without a state, print the newest."""
    if options["state"] is None:
        return last_checkpoint(options)
    state = read_state(read_text(options["state"], field="state"))
    saved = save_checkpoint(operator(), group=options["group"], thread=options["thread"], state=state)
    new = " (a new group)" if saved.group_created else ""
    place = f" of the thread '{printable(options['thread'])}'" if options["thread"] else ""
    text = f"Saved checkpoint {saved.count}{place} in {printable(saved.group)}{new}."
    return CommandAnswer(SavedOut.json(saved), in_lines(text, printable(saved.warning or "")))


def last_checkpoint(options: dict[str, Any]) -> CommandAnswer:
    """The newest checkpoint of a group or thread."""
    group = find_group(operator(), options["group"])
    last = latest_checkpoint(group, options["thread"])
    if last is None:
        where = f"the thread '{options['thread']}'" if options["thread"] else f"'{group.slug}'"
        raise NotFound(f"No checkpoint of {where} is saved yet.", field="thread")
    thread = f" · {last.thread.name}" if last.thread else ""
    head = printable(f"{last.created_at:%Y-%m-%d %H:%M} UTC · {last.author_name}{thread}")
    text = last.state.get("text") or json.dumps(last.state, ensure_ascii=False, indent=2)
    return CommandAnswer(CheckpointOut.json(last), f"{head}\n{printable(str(text), keep_lines=True)}")


def read_state(text: str) -> dict[str, Any] | str:
    """The JSON object that the text is, else the text."""
    try:
        state = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return state if isinstance(state, dict) else text


STATE: Final = "a text or a JSON object; - reads standard input; without it, the last one is printed"
CHECKPOINT: Final = CommandVerb(
    checkpoint,
    "save the state of the work for the next session, or print the last one saved",
    (option("state", nargs="?", help=STATE), GROUP, THREAD),
)
