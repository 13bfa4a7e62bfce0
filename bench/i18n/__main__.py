"""Write the catalogues, or with `--check` name those that are out of date; name what is not translated, and exit with 1 then."""

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
django.setup()

from bench.i18n import catalogue  # noqa: E402 - it reads models

is_check = sys.argv[1:] == ["--check"]
stale = catalogue.stale_files()
for path, content in () if is_check else stale.items():
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
faults = catalogue.faults()
names = [f"out of date: {catalogue.relative(path)}" for path in stale] if is_check else []
print("\n".join([*names, *faults, f"{len(stale)} files {'out of date' if is_check else 'written'}"]))
sys.exit(1 if faults or (is_check and stale) else 0)
