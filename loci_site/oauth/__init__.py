"""OAuth 2.1 for MCP: a program requests access from a person, who does not have to copy a token."""
