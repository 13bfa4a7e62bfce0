// The parsers of both sites' traffic, on the forms that their pages send today and sent before.
import assert from "node:assert/strict";
import test from "node:test";

import { readChatgpt } from "../../extension/sites/chatgpt.js";
import { readClaude } from "../../extension/sites/claude.js";
import { placeOf } from "../../extension/sites/index.js";
import { Unreadable, readEvents } from "../../extension/sites/stream.js";

const AT = "2026-03-01T10:00:00.000Z";
const CLAUDE = "https://claude.ai/api/organizations/o/chat_conversations";
const CHATGPT = "https://chatgpt.com/backend-api";

function stream(...events) {
  return events.map((event) => `event: ${event.type ?? "delta"}\ndata: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join("");
}

const delta = (text, index = 0) => ({ type: "content_block_delta", index, delta: { type: "text_delta", text } });
const block = (type, index = 0) => ({ type: "content_block_start", index, content_block: { type, text: "" } });
const ROOT = "00000000-0000-4000-8000-000000000000";

test("events are read with any line ends, over several data lines", () => {
  const found = [...readEvents("event: a\r\ndata: 1\r\ndata: 2\r\n\r\n: comment\n\ndata:3\n\n")];
  assert.deepEqual(found, [{ event: "a", data: "1\n2" }, { event: "", data: "3" }]);
});

test("claude.ai: a loaded conversation gives the branch that is shown", () => {
  const message = (uuid, parent, sender, content) => ({ uuid, parent_message_uuid: parent, sender, content, text: "", created_at: "2026-03-01T10:00:00Z" });
  const text = JSON.stringify({
    uuid: "c1", name: "Mail", current_leaf_message_uuid: "m4",
    chat_messages: [
      message("m1", ROOT, "human", [{ type: "text", text: "Old question" }]),
      message("m2", "m1", "assistant", [{ type: "text", text: "Old answer" }]),
      message("m3", ROOT, "human", [{ type: "text", text: "New question" }, { type: "image" }]),
      message("m4", "m3", "assistant", [{ type: "thinking", thinking: "hm" }, { type: "text", text: "New" }, { type: "tool_use" }, { type: "text", text: "answer" }]),
    ],
  });
  assert.deepEqual(readClaude({ url: `${CLAUDE}/c1?tree=True`, sent: "", text, done: true, at: AT }), {
    id: "c1", title: "Mail", temporary: false,
    turns: [
      { id: "m3", parent: "", role: "user", text: "New question", at: AT },
      { id: "m4", parent: "m3", role: "assistant", text: "New\nanswer", at: AT },
    ],
  });
});

test("claude.ai: a question and its streamed answer, without thinking and tools", () => {
  const sent = JSON.stringify({ prompt: "Which host?", parent_message_uuid: "m0", turn_message_uuids: { human_message_uuid: "h1", assistant_message_uuid: "a1" } });
  const text = stream({ type: "message_start", message: { uuid: "a1" } }, block("thinking"), delta("hm"), block("text", 1), delta("Bra", 1), delta("ss", 1), { type: "ping" }, { type: "message_stop" });
  const { id, turns } = readClaude({ url: `${CLAUDE}/c1/completion`, sent, text, done: true, at: AT });
  assert.equal(id, "c1");
  assert.deepEqual(turns, [
    { id: "h1", parent: "m0", role: "user", text: "Which host?", at: AT },
    { id: "a1", parent: "h1", role: "assistant", text: "Brass", at: AT },
  ]);
});

test("claude.ai: ids that only the answer names", () => {
  const sent = JSON.stringify({ prompt: "Which host?", parent_message_uuid: ROOT });
  const text = stream({ type: "message_start", message: { uuid: "a1", parent_uuid: "h1" } }, block("text"), delta("Brass"));
  const { turns } = readClaude({ url: `${CLAUDE}/c1/completion`, sent, text, done: true, at: AT });
  assert.deepEqual(turns.map(({ id, parent }) => [id, parent]), [["h1", ""], ["a1", "h1"]]);
});

test("claude.ai: an answer that broke off is left to the next load; the question is kept", () => {
  const sent = JSON.stringify({ prompt: "Which host?", parent_message_uuid: ROOT, turn_message_uuids: { human_message_uuid: "h1", assistant_message_uuid: "a1" } });
  const text = stream({ type: "message_start", message: { uuid: "a1" } }, block("text"), delta("Bra"));
  const { turns } = readClaude({ url: `${CLAUDE}/c1/completion`, sent, text, done: false, at: AT });
  assert.deepEqual(turns.map((turn) => turn.id), ["h1"]);
});

test("claude.ai: incognito conversations say so at each place", () => {
  const made = JSON.stringify({ uuid: "c1", name: "", is_temporary: true });
  assert.equal(readClaude({ url: CLAUDE, sent: "", text: made, done: true, at: AT }).temporary, true);
  const sent = JSON.stringify({ prompt: "Q", create_conversation_params: { is_temporary: true } });
  assert.equal(readClaude({ url: `${CLAUDE}/c1/completion`, sent, text: stream({ type: "message_start", message: {} }), done: true, at: AT }).temporary, true);
});

for (const [name, url, text] of [
  ["no JSON", `${CLAUDE}/c1`, "<html>"],
  ["another form", `${CLAUDE}/c1`, '{"nodes": []}'],
  ["an unknown sender", `${CLAUDE}/c1`, '{"uuid": "c1", "chat_messages": [{"uuid": "m", "sender": "robot", "text": "x"}]}'],
  ["a stream of unknown events", `${CLAUDE}/c1/completion`, 'data: {"frame": 1}\n\n'],
]) {
  test(`claude.ai: ${name} is not read as if it were known`, () => {
    assert.throws(() => readClaude({ url, sent: "{}", text, done: true, at: AT }), Unreadable);
  });
}

const said = (id, role, text, more = {}) => ({ id, author: { role }, content: { content_type: "text", parts: [text] }, create_time: 1772359200, ...more });

test("chatgpt.com: a loaded conversation gives the visible turns of the shown branch", () => {
  const node = (message, parent) => ({ message, parent });
  const mapping = {
    root: node(null, null),
    s: node(said("s", "system", "rules"), "root"),
    u0: node(said("u0", "user", "Old question"), "s"),
    u: node(said("u", "user", "Which host?"), "s"),
    h: node(said("h", "assistant", "hidden", { metadata: { is_visually_hidden_from_conversation: true } }), "u"),
    t: node(said("t", "assistant", "search()", { recipient: "web" }), "h"),
    a: node(said("a", "assistant", "Brass"), "t"),
  };
  const text = JSON.stringify({ title: "Mail", mapping, current_node: "a" });
  assert.deepEqual(readChatgpt({ url: `${CHATGPT}/conversation/abc`, sent: "", text, done: true, at: AT }), {
    id: "abc", title: "Mail", temporary: false,
    turns: [
      { id: "u", parent: "", role: "user", text: "Which host?", at: AT },
      { id: "a", parent: "u", role: "assistant", text: "Brass", at: AT },
    ],
  });
});

const asked = (more = {}) => JSON.stringify({ messages: [{ id: "u", author: { role: "user" }, content: { content_type: "text", parts: ["Which host?"] } }], parent_message_id: "p", conversation_id: "c", ...more });
const PATH = "/message/content/parts/0";

test("chatgpt.com: whole messages in a stream", () => {
  const text = ["Br", "Brass"].map((part) => `data: ${JSON.stringify({ message: said("a", "assistant", part), conversation_id: "c" })}\n\n`).join("") + "data: [DONE]\n\n";
  const { turns } = readChatgpt({ url: `${CHATGPT}/conversation`, sent: asked(), text, done: true, at: AT });
  assert.deepEqual(turns.map(({ id, parent, text: words }) => [id, parent, words]), [["u", "p", "Which host?"], ["a", "u", "Brass"]]);
});

test("chatgpt.com: patches in a stream, each as the one before where it names nothing", () => {
  const text = stream(
    '"v1"',
    { p: "", o: "add", v: { message: said("a", "assistant", ""), conversation_id: "c" }, c: 0 },
    { p: PATH, o: "append", v: "Br" },
    { v: "a" },
    { p: "", o: "patch", v: [{ p: PATH, o: "append", v: "s" }, { p: "/message/metadata", o: "append", v: { finish: 1 } }] },
    { v: [{ p: PATH, o: "append", v: "s" }, { p: "/message/status", o: "replace", v: "finished_successfully" }] },
    { type: "title_generation", title: "Mail", conversation_id: "c" },
    { type: "message_stream_complete", conversation_id: "c" },
  );
  const found = readChatgpt({ url: `${CHATGPT}/f/conversation`, sent: asked({ conversation_id: undefined }), text, done: true, at: AT });
  assert.equal(found.id, "c");
  assert.equal(found.title, "Mail");
  assert.deepEqual(found.turns.map(({ id, parent, text: words }) => [id, parent, words]), [["u", "", "Which host?"], ["a", "u", "Brass"]]);
});

test("chatgpt.com: a patch reaches no prototype", () => {
  const text = stream({ p: "", o: "add", v: { message: said("a", "assistant", "x") } }, { p: "/__proto__/bad", o: "add", v: 1 }, { p: "/constructor/prototype/bad", o: "add", v: 1 });
  readChatgpt({ url: `${CHATGPT}/f/conversation`, sent: asked(), text, done: true, at: AT });
  assert.equal({}.bad, undefined);
});

test("chatgpt.com: comments of a thinking model, and answers that go on in a socket, are left out", () => {
  const text = stream({ message: said("k", "assistant", "thinking aloud", { channel: "commentary" }) }, { type: "stream_handoff" });
  const { turns } = readChatgpt({ url: `${CHATGPT}/f/conversation`, sent: asked(), text, done: true, at: AT });
  assert.deepEqual(turns.map((turn) => turn.id), ["u"]);
});

test("chatgpt.com: temporary chats say so; unknown frames are not read as if they were known", () => {
  const text = stream({ frame: 1 });
  const url = `${CHATGPT}/f/conversation`;
  assert.throws(() => readChatgpt({ url, sent: asked(), text, done: true, at: AT }), Unreadable);
  const known = stream({ message: said("a", "assistant", "x") });
  assert.equal(readChatgpt({ url, sent: asked({ history_and_training_disabled: true }), text: known, done: true, at: AT }).temporary, true);
});

test("the open conversation is known by the address", () => {
  assert.deepEqual(placeOf("https://claude.ai/chat/c-1?x=1"), { platform: "claude.ai", id: "c-1" });
  assert.deepEqual(placeOf("https://chatgpt.com/g/g-abc/c/c-2"), { platform: "chatgpt.com", id: "c-2" });
  for (const url of ["https://claude.ai/new", "https://evil.example/chat/c-1", "about:blank", undefined]) assert.equal(placeOf(url), null);
});
