"""`python -m bench.proof.inside MODULE:FUNCTION` calls a function of bench in the home that LOCI_HOME names.

Its arguments come as a JSON object on stdin, and what it returns goes to stdout as JSON. The module is imported after Django is set up,
so that it can import models at its top.
"""

import json
import sys
from importlib import import_module

import django

if __name__ == "__main__":
    django.setup()  # LOCI_HOME and DJANGO_SETTINGS_MODULE are set by bench/proof/home.py
    module, _, function = sys.argv[1].partition(":")
    print(json.dumps(getattr(import_module(f"bench.{module}"), function)(**json.load(sys.stdin))))
