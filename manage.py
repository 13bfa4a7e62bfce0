#!/usr/bin/env python3
"""Loci's commands: `python manage.py help` lists them; an installed Loci has the same ones as `loci <command>`."""

from loci_site.management.cli import main

if __name__ == "__main__":
    main()
