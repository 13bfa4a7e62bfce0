"""What forget_memory does: the verbs of the registry, and edit, undo and feedback."""

from typing import Any, Final

from access.actor import Actor
from access.answers import Json
from access.errors import InvalidInput, LociError
from loci_site.mcp import results as answers
from loci_site.mcp.calls import parse_changes
from memories.draft import check_choice
from memories.lifecycle.edit import edit
from memories.lifecycle.undo import undo_write
from memories.lifecycle.verbs import Face, offered_by
from memories.models import FeedbackVerdict
from memories.review.feedback import give_feedback

VERBS: Final = offered_by(Face.AGENTS)
EDIT: Final = "edit"
UNDO: Final = "undo"
_FEEDBACK: Final = tuple(FeedbackVerdict.values)
# As the tool's schema lists them: what destroys comes late.
CHANGES: Final = (
    "forget",
    "restore",
    EDIT,
    UNDO,
    *(name for name in VERBS if name not in ("forget", "restore")),
    *_FEEDBACK,
)
# For docs/reference/tools.md; agents read VERBS_HELP.
CHANGES_HELP: Final = {
    **{name: verb.help for name, verb in VERBS.items()},
    "pin": "ask a person to pin it: a pinned memory does not fade and is in every context pack",
    EDIT: "set the fields in `changes`: `tags`, `importance`, `expires_at` (null clears it), `metadata`; a new `content`, "
    "`type` or `valid_from` makes a new version",
    UNDO: "take back your own write of the last 24 hours; `id` is the `undo` of its answer",
    FeedbackVerdict.USED.value: "say that a recalled memory helped; `id` may be several ids with commas",
    FeedbackVerdict.WRONG.value: "say that a recalled memory misled, or did not fit the question",
}
VERBS_HELP: Final = "; ".join(verb.agents_help for verb in VERBS.values() if verb.agents_help)


def change_memory(
    actor: Actor, id_: str, verb: str, *, changes: dict[str, Any], reason: str, dry_run: bool
) -> Json:
    """Carry out one verb of an agent; the body of its answer.

    Raises:
        InvalidInput: the verb is unknown, or the arguments do not fit it.
    """
    check_choice(verb, [*CHANGES], field="verb")
    if changes and verb != EDIT:
        raise InvalidInput(f"'{verb}' takes no changes.", hint="Only 'edit' does.", field="changes")
    if dry_run and verb in (UNDO, *_FEEDBACK):
        raise InvalidInput(f"'{verb}' has no dry run.", hint="Leave dry_run out.", field="dry_run")
    if verb == EDIT:
        return answers.edited_body(
            edit(actor, id_, parse_changes(changes), reason=reason, dry_run=dry_run), dry_run=dry_run
        )
    if verb == UNDO:
        done = undo_write(actor, id_)
        return answers.shown({"verb": UNDO, "undone": done.undone, "consequences": [*done.consequences]})
    if verb in _FEEDBACK:
        ids = [part.strip() for part in id_.split(",") if part.strip()]
        used, wrong = (ids, []) if verb == FeedbackVerdict.USED else ([], ids)
        try:
            given = give_feedback(actor, used=used, wrong=wrong)
        except LociError as error:
            error.field = "id"  # the tool's argument, whichever verdict the ids are for
            raise
        return {"verb": verb, "recorded": sum(each.is_new for each in given)}
    return answers.done_body(VERBS[verb].apply(actor, id_, reason=reason, dry_run=dry_run))
