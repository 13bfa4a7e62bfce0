"""What the suite asks of tools, resources, prompts and completions that answer at once."""

import asyncio
import base64
import warnings
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import (
    AudioContent,
    Completion,
    CompletionArgument,
    CompletionContext,
    EmbeddedResource,
    ImageContent,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)
from pydantic import Field

PROGRESS_STEPS = (0, 50, 100)
COMPLETIONS = ("tea", "test", "testament")

# One schema with the keywords of JSON Schema 2020-12 that a server must not lose on the way out.
SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
# A picture of one red pixel, and a hundredth of a second of silence (8 kHz, 8 bits).
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
WAV = b"RIFFt\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0@\x1f\0\0\1\0\x08\0dataP\0\0\0" + b"\x80" * 80


def image() -> ImageContent:
    return ImageContent(type="image", data=PNG, mime_type="image/png")


def embedded(uri: str, text: str, mime_type: str = "text/plain") -> EmbeddedResource:
    contents = TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return EmbeddedResource(type="resource", resource=contents)


def schema_tool() -> Tool:
    """The tool whose input schema is written by hand: the SDK's own way is to replace `parameters`."""

    async def json_schema_2020_12_tool(name: str = "") -> str:
        return f"Hello {name}."

    tool = Tool.from_function(json_schema_2020_12_tool, description="Has a schema of many keywords.")
    return tool.model_copy(update={"parameters": SCHEMA_2020_12})


def add_tools(server: MCPServer) -> None:
    """Tools that return content of each kind."""

    @server.tool(description="Returns a text.", structured_output=False)
    async def test_simple_text() -> str:
        return "A plain text."

    @server.tool(description="Returns an image.")
    async def test_image_content() -> ImageContent:
        return image()

    @server.tool(description="Returns a sound.")
    async def test_audio_content() -> AudioContent:
        return AudioContent(type="audio", data=base64.b64encode(WAV).decode(), mime_type="audio/wav")

    @server.tool(description="Returns a resource inside the answer.")
    async def test_embedded_resource() -> EmbeddedResource:
        return embedded("test://embedded-resource", "Text of an embedded resource.")

    @server.tool(description="Returns a text, an image and a resource.")
    async def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
        data = embedded("test://mixed-content-resource", '{"kind": "mixed"}', "application/json")
        return [TextContent(type="text", text="Three kinds of content."), image(), data]

    @server.tool(description="Always fails.")
    async def test_error_handling() -> str:
        raise ToolError("This tool fails on purpose.")

    @server.tool(description="Takes an argument that a header mirrors.", structured_output=False)
    async def test_header_argument(
        region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    ) -> str:
        return f"Region {region}."


def add_running_tools(server: MCPServer) -> None:
    """Tools that say something while they run."""

    @server.tool(description="Reports its progress.", structured_output=False)
    async def test_tool_with_progress(ctx: Context) -> str:
        for step in PROGRESS_STEPS:
            await ctx.report_progress(step, 100)
            await asyncio.sleep(0.01)
        return "Done in three steps."

    @server.tool(description="Writes to the client's log.", structured_output=False)
    async def test_logging_tool(ctx: Context) -> str:
        with warnings.catch_warnings():  # the call is deprecated; that it stays silent is what is tested
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            await ctx.log("info", "Nobody asked for this line.")
        return "Logged."

    @server.tool(description="Says that the list of tools has changed.", structured_output=False)
    async def test_trigger_tool_change(ctx: Context) -> str:
        await ctx.notify_tools_changed()
        return "Told who listens."

    @server.tool(description="Says that the list of prompts has changed.", structured_output=False)
    async def test_trigger_prompt_change(ctx: Context) -> str:
        await ctx.notify_prompts_changed()
        return "Told who listens."


def add_resources(server: MCPServer) -> None:
    """A text, a binary, and a template."""

    @server.resource("test://static-text", description="A text.", mime_type="text/plain")
    async def static_text() -> str:
        return "Text of a resource."

    @server.resource("test://static-binary", description="A picture.", mime_type="image/png")
    async def static_binary() -> bytes:
        return base64.b64decode(PNG)

    @server.resource("test://template/{id}/data", description="By id.", mime_type="application/json")
    async def template_data(id: str) -> dict[str, object]:  # noqa: A002  the suite's template says `id`
        return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


def add_prompts(server: MCPServer) -> None:
    """Prompts with text, arguments, a resource and an image, and completions of their arguments."""

    @server.prompt(description="A prompt without arguments.")
    async def test_simple_prompt() -> str:
        return "A plain prompt."

    @server.prompt(description="A prompt with two arguments.")
    async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt(description="A prompt about a resource.")
    async def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:
        return [UserMessage(embedded(resourceUri, "Text of the resource.")), UserMessage("Read it, please.")]

    @server.prompt(description="A prompt about an image.")
    async def test_prompt_with_image() -> list[UserMessage]:
        return [UserMessage(image()), UserMessage("Look at it, please.")]

    @server.completion()
    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion:
        values = [word for word in COMPLETIONS if word.startswith(argument.value)]
        return Completion(values=values, total=len(values), has_more=False)
