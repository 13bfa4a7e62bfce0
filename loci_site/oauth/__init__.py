"""OAuth 2.1 for MCP: programs ask a person for access instead of being handed a token."""
