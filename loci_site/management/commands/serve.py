"""`loci serve`: an alias of `loci up`."""

from loci_site.management.commands.up import Command as UpCommand


class Command(UpCommand):
    """The same command under the name that people often try first."""

    help = "Run Loci (the same as up)."
