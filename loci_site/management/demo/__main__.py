"""`python -m loci_site.management.demo`: fill the empty store of LOCI_HOME, and print the password."""

import os
import sys
from datetime import timedelta
from io import StringIO

import django
from django.core.management import CommandError, call_command
from django.utils import timezone

PASSWORD_VARIABLE = "LOCI_DEMO_PASSWORD"  # noqa: S105 - a name, not a secret
DAYS = 60


def main() -> None:
    """Make the tables, the model and the team."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
    django.setup()
    # Models and settings are there from here on.
    from loci_site.management.demo.team import found_team, live, tell  # noqa: PLC0415
    from memories.embedding import ModelUnavailable, get_encoder  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    try:
        call_command("model", "install", stdout=StringIO())
        get_encoder(timeout_s=60)
    except (CommandError, ModelUnavailable) as error:
        sys.stderr.write(f"Without the embedding model, questions are answered by words alone: {error}\n")
    team = found_team(os.environ[PASSWORD_VARIABLE])
    live(team, tell(team, began=timezone.now() - timedelta(days=DAYS)))


if __name__ == "__main__":
    main()
