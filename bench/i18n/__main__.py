"""Command line: writes the catalogues, and names what is not translated."""

import argparse
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
django.setup()

from bench.i18n import catalogue  # noqa: E402 - it reads models


def main() -> None:
    """Write the files; the exit code is 1 if a translation is missing, or with --check if a file is out of date."""
    parser = argparse.ArgumentParser(prog="python -m bench.i18n", description=main.__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; name the files that are out of date"
    )
    is_check = parser.parse_args().check
    stale = catalogue.stale_files()
    for path, content in () if is_check else stale.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    faults = catalogue.faults()
    names = [f"out of date: {catalogue.relative(path)}" for path in stale] if is_check else []
    print("\n".join([*names, *faults, f"{len(stale)} files {'out of date' if is_check else 'written'}"]))
    sys.exit(1 if faults or (is_check and stale) else 0)


if __name__ == "__main__":
    main()
