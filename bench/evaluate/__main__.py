"""Command line: sets Django up, then runs the command."""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
django.setup()

from bench.evaluate.command import Command  # noqa: E402 - it reads models

Command().run_from_argv(["python -m", "bench.evaluate", *sys.argv[1:]])
