"""`loci memory context`, `checkpoint` and `relate`: what an agent knows, saves and relates in a session."""

import json
from typing import Any, Final

from access.errors import NotFound
from access.groups import find_group
from access.management.command import GROUP, THREAD, CommandAnswer, CommandVerb, many, option
from access.tokens import local_operator, operator
from access.visibility import Narrowing
from memories.browse.serializers import CheckpointOut, PackOut, RelationStoredOut, SavedOut
from memories.draft import DEFAULT_CONFIDENCE
from memories.entities.store_relation import RelationDraft, store_relation
from memories.language.cleaning import parse_moment
from memories.management.field_options import AS_OF, KNOWN_AT
from memories.management.output import in_lines, printable, read_text
from memories.sessions.checkpoints import save_checkpoint
from memories.sessions.context_pack import DEFAULT_BUDGET, get_context
from memories.sessions.threads import latest_checkpoint


def context(options: dict[str, Any]) -> CommandAnswer:
    """The context pack as an agent gets it."""
    pack = get_context(
        local_operator(),
        group=options["group"],
        query=options["query"],
        thread=options["thread"],
        token_budget=options["token_budget"],
        narrowing=Narrowing(as_of=options["as_of"], known_at=options["known_at"]),
    )
    return CommandAnswer(PackOut.json(pack), printable(pack.text, keep_lines=True))


CONTEXT: Final = CommandVerb(
    context,
    "print the context pack, with which a session begins",
    (
        GROUP,
        option("--query", default="", metavar="TEXT", help="what the session is about; adds what answers it"),
        THREAD.but(help="the thread whose checkpoint to show"),
        option("--token-budget", type=int, metavar="N", help=f"default: {DEFAULT_BUDGET}"),
        AS_OF,
        KNOWN_AT,
    ),
    uses_model=True,
)


def checkpoint(options: dict[str, Any]) -> CommandAnswer:
    """Save a text or a JSON object as the newest checkpoint; without a state, print the newest."""
    if options["state"] is None:
        return _last_checkpoint(options)
    state = read_state(read_text(options["state"], field="state"))
    saved = save_checkpoint(operator(), group=options["group"], thread=options["thread"], state=state)
    new = " (a new group)" if saved.group_created else ""
    place = f" of the thread '{printable(options['thread'])}'" if options["thread"] else ""
    text = f"Saved checkpoint {saved.count}{place} in {printable(saved.group)}{new}."
    return CommandAnswer(SavedOut.json(saved), in_lines(text, printable(saved.warning or "")))


def _last_checkpoint(options: dict[str, Any]) -> CommandAnswer:
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


_STATE: Final = "a text or a JSON object; - reads standard input; without it, the last one is printed"
CHECKPOINT: Final = CommandVerb(
    checkpoint,
    "save the state of the work for the next session, or print the last one saved",
    (option("state", nargs="?", help=_STATE), GROUP, THREAD),
)


def relate(options: dict[str, Any]) -> CommandAnswer:
    """Store one relation; names that are not known yet become entities."""
    names = ("subject", "predicate", "object", "group", "confidence", "valid_from", "valid_to")
    draft = RelationDraft(evidence=tuple(options["evidence"]), **{name: options[name] for name in names})
    stored = store_relation(operator(), draft)
    new = " (a new group)" if stored.group_created else ""
    line = f"{stored.subject.content} —{stored.relation.predicate}→ {stored.object.content}"
    why = f": {stored.why}" if stored.why else ""
    text = f"{stored.outcome.capitalize()} {stored.relation.id} in {stored.group}{new}: {line}{why}"
    made = f"New entities: {', '.join(stored.entities_created)}." if stored.entities_created else ""
    return CommandAnswer(RelationStoredOut.json(stored), in_lines(printable(text), printable(made)))


RELATE: Final = CommandVerb(
    relate,
    'relate two memories or names, for questions such as "which team owns the invoice service?"',
    (
        option("subject", help="a name, or the id of a memory"),
        option("predicate", help="what holds between them, such as owned_by_team"),
        option("object", help="a name, or the id of a memory"),
        GROUP,
        many("--evidence", "ID", "a memory that proves it"),
        option("--confidence", type=float, default=DEFAULT_CONFIDENCE, metavar="0..1", help="default: %(default)s"),
        option("--valid-from", metavar="TIME", read=parse_moment, help="since when it is true"),
        option("--valid-to", metavar="TIME", read=parse_moment, help="until when it is true"),
    ),
    uses_model=True,
)  # fmt: skip
