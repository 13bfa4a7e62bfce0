"""Transports of MCP messages: HTTP and stdio."""
