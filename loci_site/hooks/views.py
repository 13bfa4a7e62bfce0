"""`POST /hooks/{client}/{event}`: a client's hook, answered in its own schema; nothing ever stops the client.

Without a valid token the answer is 401; otherwise it is 200, and `{}` whenever something is unsure, late or wrong.
"""

import asyncio
import json
import logging
from typing import Any

from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from access.actor import Actor, Via
from access.errors import LociError, NotAuthenticated, TooManyAttempts
from access.sign_in.client_address import address_of
from access.sign_in.lockouts import count_failed_token
from access.tokens import actor_for_secret, bearer_secret
from loci_site.hooks.capture import capture_of, keep_captures
from loci_site.hooks.checkpoint import end_or_compact, note_answer
from loci_site.hooks.events import HookCall, HookEvent, read_call, render_answer
from loci_site.hooks.prompt import find_for_prompt, record_prompt
from loci_site.hooks.repository import HEADER, answer_anchors, asks_for_anchors, with_hook_checkout
from loci_site.hooks.sessions import working_actor
from loci_site.hooks.start import start_session
from loci_site.server.db_threads import in_db_thread, in_write_thread

logger = logging.getLogger(__name__)
find_actor = in_db_thread(actor_for_secret)
count_failed = in_db_thread(count_failed_token)
find_memories, note_injected = in_db_thread(find_for_prompt), in_write_thread(record_prompt)
begin, keep_answer = in_write_thread(start_session), in_write_thread(note_answer)
save_state, capture = in_write_thread(end_or_compact), in_write_thread(keep_captures)
_note_anchors = in_write_thread(answer_anchors)
_ANCHORS = "anchors"  # no event of a client: `loci-hook` asks and tells which commits its head contains


@in_db_thread
def _find_checkout(actor: Actor, call: HookCall) -> tuple[Actor, bool]:
    """The actor with its checkout, and whether to ask the client about commits."""
    return with_hook_checkout(actor, call), asks_for_anchors(actor, call)


# Captures that a client does not wait for; the loop holds tasks weakly.
_UNDER_WAY: set["asyncio.Task[int]"] = set()


@csrf_exempt  # browsers never send a token in a header on their own
async def hook_view(request: HttpRequest, client: str, event: str) -> JsonResponse:
    """Answer one hook of the token's owner."""
    secret = bearer_secret(request.headers.get("Authorization", ""))
    try:
        actor = await find_actor(secret, via=Via.HOOK)
    except NotAuthenticated as error:
        return await _refuse_hook(request, error, is_sent=bool(secret))
    sent = parse_body(request)
    is_about_anchors = event == _ANCHORS
    call = read_call(client, HookEvent.STOP if is_about_anchors else event, sent)
    if call is None:
        return JsonResponse({})
    asks, body = False, {} if is_about_anchors else render_answer(call, "")
    try:
        if settings.LOCI.hooks.enabled and is_about_anchors:
            body = await _note_anchors(working_actor(actor), call, sent)
        elif settings.LOCI.hooks.enabled:
            worker, asks = await _find_checkout(working_actor(actor), call)
            body = render_answer(call, await _answer_call(worker, call))
    except LociError as error:
        logger.info("Hook %s of %s: %s", event, client, error)
    except Exception:
        logger.exception("Hook %s of %s failed.", event, client)
    return JsonResponse(body, headers={HEADER: "1"} if asks else {})


def parse_body(request: HttpRequest) -> Any:
    """The JSON that a client sent; None if it is none, or too large."""
    try:
        body = request.body
        return json.loads(body) if len(body) <= settings.LOCI.server.max_body_bytes else None
    except Exception:  # whatever is wrong with it, the client must go on
        return None


async def _answer_call(actor: Actor, call: HookCall) -> str:
    """Do what the event asks for; the text to inject, empty if there is none."""
    match call.event:
        case HookEvent.START:
            return await begin(actor, call)
        case HookEvent.PROMPT:
            return await _answer_prompt(actor, call)
        case HookEvent.STOP:
            await keep_answer(actor, call)
            await _start_capture(actor, call)
        case HookEvent.COMPACT | HookEvent.COMPACTED | HookEvent.END:
            await save_state(actor, call)
            await _start_capture(actor, call)
    return ""


async def _start_capture(actor: Actor, call: HookCall) -> None:
    """Store what the call holds; the client waits no longer than a prompt does."""
    if not (call.commits or capture_of(call)):
        return
    task = asyncio.ensure_future(capture(actor, call))
    _UNDER_WAY.add(task)
    task.add_done_callback(_forget_task)
    await asyncio.wait({task}, timeout=settings.LOCI.hooks.prompt_ms / 1000)


def _forget_task(task: "asyncio.Task[int]") -> None:
    """Forget a task that has ended, and log the error if it failed."""
    _UNDER_WAY.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("A capture failed.", exc_info=error)


async def _answer_prompt(actor: Actor, call: HookCall) -> str:
    """The memories for a prompt if they are found and noted within hooks.prompt_ms; a late answer is dropped."""
    try:
        async with asyncio.timeout(settings.LOCI.hooks.prompt_ms / 1000):
            found = await find_memories(actor, call)
            await note_injected(actor, call, found)
    except TimeoutError:
        return ""
    await _start_capture(actor, call)
    return found.text


async def _refuse_hook(request: HttpRequest, error: NotAuthenticated, *, is_sent: bool) -> JsonResponse:
    """The 401, or 429 after too many invalid tokens from one address."""
    refusal: LociError = error
    if is_sent:
        refusal = await count_failed(error, address=address_of(request), via=Via.HOOK)
    headers = {"Retry-After": str(refusal.wait_s)} if isinstance(refusal, TooManyAttempts) else {}
    return JsonResponse(refusal.as_dict(), status=refusal.status, headers=headers)
