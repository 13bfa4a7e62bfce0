"""Write the reference pages of the docs from the code, or with `--check` list those that are out of date."""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
django.setup()

from bench.reference.pages import stale_pages, write_pages  # noqa: E402 - needs the models

if sys.argv[1:] == ["--check"]:
    stale = stale_pages()
    sys.exit(f"Out of date: {', '.join(stale)}. Run 'python -m bench.reference'." if stale else 0)
written = write_pages()
sys.stdout.write(f"Written: {', '.join(written)}.\n" if written else "All pages are up to date.\n")
