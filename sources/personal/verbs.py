"""The verbs that `loci person` gets from here; their work is loaded when it is called."""

from typing import Final

from access.additions import late
from access.management.command import DRY_RUN, NAME, TO_FILE, YES, CommandVerb

PERSON_VERBS: Final = (
    (
        "export",
        CommandVerb(
            late("sources.personal.commands.export"),
            "write what the person wrote and did as a zip",
            (NAME, TO_FILE.but(help="a new file; default: NAME-loci.zip")),
        ),
    ),
    (
        "erase",
        CommandVerb(
            late("sources.personal.commands.erase"),
            "erase the person: what is theirs alone is destroyed, the rest gets another name",
            (NAME, DRY_RUN, YES),
        ),
    ),
)
