"""Starts Loci's MCP server on standard input and output."""

import sys

from loci_site.management.cli import main

sys.argv[:1] = ["loci", "mcp", "--stdio"]
main()
