"""MCP: the tools, resources and prompts that agents use, over HTTP and over stdio."""
