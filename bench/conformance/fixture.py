"""The server that the suite drives: nothing in it is Loci's, except what carries it."""

from mcp.server.mcpserver import MCPServer

from bench.conformance.contents import add_prompts, add_resources, add_running_tools, add_tools, schema_tool
from bench.conformance.questions import add_capabilities, add_questions, add_states


def build_server() -> MCPServer:
    """The server with everything that the suite calls by name."""
    server = MCPServer("loci-conformance", version="1.0.0", log_level="WARNING", tools=[schema_tool()])
    for add in (add_tools, add_running_tools, add_resources, add_prompts):
        add(server)
    for add in (add_questions, add_states, add_capabilities):
        add(server)
    return server
