"""The sample team with a history of weeks, for looking at the pages and for pictures in the docs.

Run on an empty LOCI_HOME: `LOCI_HOME=… python -m bench.demo`. The login is alice / a long walk by the sea.
"""

import os
from datetime import timedelta

import django
from time_machine import travel

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
django.setup()

from django.contrib.auth.models import User  # noqa: E402 - models need django.setup()
from django.core.management import call_command  # noqa: E402
from django.utils import timezone  # noqa: E402

from access.actor import ALL_SCOPES, Actor  # noqa: E402
from access.tokens import create_token  # noqa: E402
from bench.demo import PASSWORD  # noqa: E402
from loci_site.management.demo.team import (  # noqa: E402
    DECISIONS,
    TRAITS,
    found_team,
    live,
    tell,
)
from memories.embedding import get_encoder  # noqa: E402
from memories.models import Memory  # noqa: E402

DAYS = 45  # so long ago the team began


def fill_store(*, decisions: int = DECISIONS, traits: int = len(TRAITS)) -> dict[str, str]:
    """Fill an empty store as if over the last weeks; give a token's secret of each person, with all that it may do."""
    get_encoder(timeout_s=60)
    with travel(timezone.now() - timedelta(days=DAYS)) as clock:
        team = found_team(PASSWORD)
        began = timezone.now() - timedelta(days=15)
        stored = tell(
            team,
            began=began,
            decisions=decisions,
            traits=traits,
            after_each=lambda count: clock.shift(timedelta(days=DAYS) / (count + 1)),
        )
    live(team, stored)
    return {name: _everything(team.alice, user) for name, user in team.people.items()}


def _everything(alice: Actor, user: User) -> str:
    scopes = sorted(ALL_SCOPES)
    return create_token(alice, user=user, name=f"{user.username} by program", scopes=scopes).secret


def main() -> None:
    """Make the tables, fill them and say how to log in."""
    call_command("migrate", verbosity=0)
    fill_store()
    print(f"{Memory.objects.count()} memories; log in as alice, bob, mia, vera or charlie with: {PASSWORD}")


if __name__ == "__main__":
    main()
