"""Django's migrate, which first adopts a store of before the migrations were squashed."""

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate

from access.errors import LociError
from maintenance.squashed_migrations import adopt_squashed


class Command(migrate.Command):
    """Bring the tables up to date."""

    def handle(self, *args: Any, **options: Any) -> Any:
        """Adopt, then migrate."""
        try:
            adopt_squashed()
        except LociError as error:
            raise CommandError(str(error)) from None
        return super().handle(*args, **options)
