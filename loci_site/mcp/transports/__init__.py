"""How MCP messages reach the server: HTTP, stdio and in-process."""
