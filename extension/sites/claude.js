// claude.ai: what the page asks and gets, as turns. The answer of each endpoint was read in public clients of the site;
// it is not documented and may change, which throws Unreadable.
import { Unreadable, cleanId, moment, readEvents, readJson } from "./stream.js";

const ROOT = "00000000-0000-4000-8000-000000000000";
const CONVERSATION = /\/chat_conversations\/([^/?]+)/;

/** {platform id, title, turns, temporary} of one exchange of the page with its site; null if it holds no turns. */
export function readClaude({ url, sent, text, done, at }) {
  const path = new URL(url).pathname;
  const id = cleanId(CONVERSATION.exec(path)?.[1]);
  if (/completion$/.test(path)) return readCompletion(id, sent, text, done, at);
  return readConversation(id, text);
}

/** The branch of a loaded conversation that the page shows. A new one has no messages yet, but says whether it is temporary. */
function readConversation(id, text) {
  const body = readJson(text);
  const found = { id: cleanId(body?.uuid) || id, title: body?.name ?? "", turns: [], temporary: body?.is_temporary === true };
  if (!found.id) throw new Unreadable("a conversation without uuid");
  if (body.chat_messages === undefined && body.uuid) return found;
  if (!Array.isArray(body.chat_messages)) throw new Unreadable("a conversation without chat_messages");
  const shown = branch(body.chat_messages, body.current_leaf_message_uuid);
  let parent = "";
  for (const message of shown) {
    const said = messageText(message);
    const role = { human: "user", assistant: "assistant" }[message.sender];
    if (!role) throw new Unreadable("a message of an unknown sender");
    const turn = cleanId(message.uuid);
    if (!turn || !said) continue;
    found.turns.push({ id: turn, parent, role, text: said, at: moment(message.created_at) });
    parent = turn;
  }
  return found;
}

/** The messages on the way to the last one; all of them where they are not a tree. */
function branch(messages, leaf) {
  const byId = new Map(messages.map((message) => [message.uuid, message]));
  if (!byId.has(leaf)) return messages;
  const way = [];
  for (let at = leaf; byId.has(at); at = byId.get(at).parent_message_uuid) {
    way.unshift(byId.get(at));
    if (way.length > messages.length) throw new Unreadable("messages in a circle");
  }
  return way;
}

/** A question and its streamed answer. A stream that broke off gives the question alone. */
function readCompletion(id, sent, text, done, at) {
  const asked = readJson(sent || "{}");
  const names = asked.turn_message_uuids ?? {};
  const found = { id, title: "", turns: [], temporary: asked.create_conversation_params?.is_temporary === true };
  const answer = readAnswer(text);
  const question = cleanId(names.human_message_uuid) || cleanId(answer.parent);
  const parent = asked.parent_message_uuid === ROOT || asked.create_conversation_params ? "" : cleanId(asked.parent_message_uuid) || null;
  const said = typeof asked.prompt === "string" ? asked.prompt.trim() : "";
  if (question && said) found.turns.push({ id: question, parent, role: "user", text: said, at });
  const reply = cleanId(names.assistant_message_uuid) || cleanId(answer.id);
  if (!done) return found;
  if (!answer.known) throw new Unreadable("a stream without known events");
  if (reply && answer.text.trim()) {
    const before = question || cleanId(asked.parent_message_uuid) || null;
    found.turns.push({ id: reply, parent: before, role: "assistant", text: answer.text.trim(), at });
  }
  return found;
}

/** The text blocks of a streamed answer; thinking and tools are left out. */
function readAnswer(text) {
  const answer = { id: "", parent: "", text: "", known: false };
  const blocks = new Map();
  for (const { data } of readEvents(text)) {
    const event = readJson(data);
    if (event.type === "message_start") {
      answer.id = event.message?.uuid ?? "";
      answer.parent = event.message?.parent_uuid ?? "";
      answer.known = true;
    } else if (event.type === "content_block_start") {
      blocks.set(event.index, { type: event.content_block?.type, text: event.content_block?.text ?? "" });
    } else if (event.type === "content_block_delta" && event.delta?.type === "text_delta") {
      const block = blocks.get(event.index) ?? { type: "text", text: "" };
      blocks.set(event.index, { ...block, text: block.text + event.delta.text });
    } else if (event.type === "completion") {
      blocks.set(0, { type: "text", text: (blocks.get(0)?.text ?? "") + (event.completion ?? "") });
      answer.known = true;
    }
  }
  answer.text = [...blocks.values()].filter((block) => block.type === "text").map((block) => block.text).join("\n");
  return answer;
}

/** A message's text: `text` may be empty while `content` has it. */
function messageText(message) {
  const blocks = Array.isArray(message.content) ? message.content : [];
  const parts = blocks.filter((block) => block?.type === "text" && block.text).map((block) => block.text.trim());
  return parts.join("\n").trim() || (typeof message.text === "string" ? message.text.trim() : "");
}
