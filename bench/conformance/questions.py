"""Tools and a prompt that answer first with questions to the client (InputRequiredResult)."""

from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    InputResponse,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    TextContent,
)

Answer = str | InputRequiredResult


def form(message: str, field: str, json_type: str = "string") -> ElicitRequest:
    """A question to the user with one field."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {field: {"type": json_type}},
        "required": [field],
    }
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(text: str) -> CreateMessageRequest:
    """A question to the client's model."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text=text))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=50))


def response(ctx: Context, name: str) -> InputResponse | None:
    """The client's answer to question `name`, or None while there is none; other answers are ignored."""
    return (ctx.input_responses or {}).get(name)


def filled(ctx: Context, name: str, field: str) -> object | None:
    """What the user filled into `field` of form `name`, or None."""
    given = response(ctx, name)
    return given.content.get(field) if isinstance(given, ElicitResult) and given.content else None


def add_questions(server: MCPServer) -> None:
    """One question of each kind."""

    @server.tool(description="Asks the user for a name.", structured_output=False)
    async def test_input_required_result_elicitation(ctx: Context) -> Answer:
        name = filled(ctx, "user_name", "name")
        if name is None:
            return InputRequiredResult(input_requests={"user_name": form("What is your name?", "name")})
        return f"Hello, {name}!"

    @server.tool(description="Asks the client's model for a capital.", structured_output=False)
    async def test_input_required_result_sampling(ctx: Context) -> Answer:
        given = response(ctx, "capital_question")
        if not isinstance(given, CreateMessageResult):
            question = sampling("What is the capital of France?")
            return InputRequiredResult(input_requests={"capital_question": question})
        return f"The model says: {given.content.text if isinstance(given.content, TextContent) else '?'}"

    @server.tool(description="Asks for the client's roots.", structured_output=False)
    async def test_input_required_result_list_roots(ctx: Context) -> Answer:
        given = response(ctx, "client_roots")
        if not isinstance(given, ListRootsResult):
            return InputRequiredResult(input_requests={"client_roots": ListRootsRequest()})
        return "Roots: " + ", ".join(str(root.uri) for root in given.roots)

    @server.prompt(description="A prompt that asks for its context.")
    async def test_input_required_result_prompt(ctx: Context) -> Answer:
        context = filled(ctx, "user_context", "context")
        if context is None:
            question = form("Which context shall the prompt use?", "context")
            return InputRequiredResult(input_requests={"user_context": question})
        return f"Use this context: {context}"

    @server.tool(description="Asks while an answer could stream.", structured_output=False)
    async def test_streaming_elicitation(ctx: Context) -> Answer:
        await ctx.report_progress(1, 2)
        return InputRequiredResult(input_requests={"confirm": form("Go on?", "ok", "boolean")})


def add_states(server: MCPServer) -> None:
    """Questions with a state that comes back with the answer; the SDK seals it."""

    def confirmed(ctx: Context, state: str) -> Answer:
        if ctx.request_state == state and filled(ctx, "confirm", "ok") is not None:
            return "state-ok"
        return InputRequiredResult(
            input_requests={"confirm": form("Please confirm.", "ok", "boolean")}, request_state=state
        )

    @server.tool(description="Asks with a state.", structured_output=False)
    async def test_input_required_result_request_state(ctx: Context) -> Answer:
        return confirmed(ctx, "asked")

    @server.tool(description="Asks with a state that nobody may change.", structured_output=False)
    async def test_input_required_result_tampered_state(ctx: Context) -> Answer:
        return confirmed(ctx, "sealed")

    @server.tool(description="Asks three things at once.", structured_output=False)
    async def test_input_required_result_multiple_inputs(ctx: Context) -> Answer:
        questions = {
            "user_name": form("What is your name?", "name"),
            "greeting": sampling("Write a greeting."),
            "client_roots": ListRootsRequest(),
        }
        if ctx.request_state == "three" and questions.keys() <= (ctx.input_responses or {}).keys():
            return "All three are answered."
        return InputRequiredResult(input_requests=questions, request_state="three")

    @server.tool(description="Asks twice, one after the other.", structured_output=False)
    async def test_input_required_result_multi_round(ctx: Context) -> Answer:
        if ctx.request_state == "first" and (name := filled(ctx, "step1", "name")) is not None:
            question = form("Step 2: Which colour do you like?", "color")
            return InputRequiredResult(input_requests={"step2": question}, request_state=f"second:{name}")
        if (ctx.request_state or "").startswith("second:") and (color := filled(ctx, "step2", "color")):
            return f"{(ctx.request_state or '').removeprefix('second:')} likes {color}."
        question = form("Step 1: What is your name?", "name")
        return InputRequiredResult(input_requests={"step1": question}, request_state="first")


def add_capabilities(server: MCPServer) -> None:
    """Questions that only some clients can answer."""

    @server.tool(description="Asks only what the client can answer.", structured_output=False)
    async def test_input_required_result_capabilities(ctx: Context) -> Answer:
        able = ctx.client_capabilities
        questions: dict[str, ElicitRequest | CreateMessageRequest] = {}
        if able is not None and able.sampling is not None:
            questions["capital_question"] = sampling("What is the capital of France?")
        if able is not None and able.elicitation is not None:
            questions["user_name"] = form("What is your name?", "name")
        return InputRequiredResult(input_requests=dict(questions)) if questions else "Nothing to ask."

    @server.tool(description="Needs a client that can sample.", structured_output=False)
    async def test_missing_capability(ctx: Context) -> str:
        if ctx.client_capabilities is None or ctx.client_capabilities.sampling is None:
            raise MCPError(
                code=MISSING_REQUIRED_CLIENT_CAPABILITY,
                message="This tool needs the client capability sampling.",
                data={"requiredCapabilities": {"sampling": {}}},
            )
        return "The client can sample."
