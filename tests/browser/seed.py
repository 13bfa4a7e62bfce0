"""Fills the store of one LOCI_HOME with the made-up team of bench.demo; prints everyone's token as JSON.

A program of its own, since it works on a home that is not the test process's.
"""

import contextlib
import json
import sys

from django.core.management import call_command

from bench import demo


def main() -> None:
    """Make the tables, the people, three groups and about seventy memories."""
    with contextlib.redirect_stdout(sys.stderr):
        call_command("migrate", verbosity=0)
        secrets = demo.fill_store(decisions=20, traits=2)
    sys.stdout.write(json.dumps(secrets))


if __name__ == "__main__":
    main()
