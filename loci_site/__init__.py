"""The site: settings, faces (REST, MCP, web) and the server; what spans rooms is composed here."""

__version__ = "0.1.0"
