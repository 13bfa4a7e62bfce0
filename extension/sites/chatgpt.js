// chatgpt.com: what the page asks and gets, as turns. The site's answers are not documented; an unknown form throws Unreadable.
import { Unreadable, cleanId, moment, readEvents, readJson } from "./stream.js";

const TEXTS = ["text", "multimodal_text"];
const ROOTS = ["client-created-root", "root"];

/** {id, title, turns, temporary} of one exchange of the page with its site. */
export function readChatgpt({ url, sent, text, done, at }) {
  const id = cleanId(/\/conversation\/([^/?]+)/.exec(new URL(url).pathname)?.[1]);
  return id ? readConversation(id, text) : readStream(sent, text, done, at);
}

/** The branch of a loaded conversation that the page shows. */
function readConversation(id, text) {
  const body = readJson(text);
  const mapping = body?.mapping;
  if (typeof mapping !== "object" || mapping === null) throw new Unreadable("a conversation without mapping");
  const way = [];
  for (let at = body.current_node; mapping[at] && way.length <= Object.keys(mapping).length; at = mapping[at].parent) {
    if (mapping[at].message) way.unshift(mapping[at].message);
  }
  const temporary = body.is_temporary === true || body.is_temporary_chat === true;
  return { id, title: body.title ?? "", turns: visible(way, "", null), temporary };
}

/** A question and its streamed answers; a stream that broke off gives the question alone. */
function readStream(sent, text, done, at) {
  const asked = readJson(sent || "{}");
  const found = { id: cleanId(asked.conversation_id), title: "", turns: [] };
  found.temporary = asked.history_and_training_disabled === true;
  const heard = readMessages(text);
  found.id ||= cleanId(heard.conversation);
  found.title = heard.title;
  const isNew = !asked.conversation_id || ROOTS.includes(asked.parent_message_id);
  const parent = isNew ? "" : cleanId(asked.parent_message_id) || null;
  found.turns = visible(asked.messages ?? [], parent, at);
  if (!done) return found;
  if (!heard.known) throw new Unreadable("a stream without known events");
  const last = found.turns.at(-1)?.id ?? parent;
  const replies = heard.messages.filter((message) => message.author?.role === "assistant");
  found.turns.push(...visible(replies, last, at));
  return found;
}

/** The messages that a person sees, as turns, each with the one before as its parent. */
function visible(messages, first, at) {
  const turns = [];
  let parent = first;
  for (const message of messages) {
    const role = message.author?.role;
    const said = partsText(message.content);
    const id = cleanId(message.id);
    const isHidden = message.metadata?.is_visually_hidden_from_conversation || !["all", undefined, null, ""].includes(message.recipient);
    if (!["user", "assistant"].includes(role) || !said || !id || isHidden || message.channel === "commentary") continue;
    turns.push({ id, parent, role, text: said, at: moment(message.create_time) ?? at });
    parent = id;
  }
  return turns;
}

/** The text parts of a message; pictures are objects, which are left out. */
function partsText(content) {
  if (!TEXTS.includes(content?.content_type) || !Array.isArray(content.parts)) return "";
  return content.parts.filter((part) => typeof part === "string" && part.trim()).map((part) => part.trim()).join("\n");
}

/** The last form of each message in a stream, both of whole messages and of patches. */
function readMessages(text) {
  const heard = { conversation: "", title: "", messages: [], known: false };
  const byId = new Map();
  const state = { value: {}, path: "", op: "add" };
  for (const { data } of readEvents(text)) {
    if (data.trim() === "[DONE]") continue;
    const event = readJson(data);
    if (typeof event !== "object" || event === null) continue; // the encoding's version
    heard.conversation ||= event.conversation_id ?? "";
    if (event.type === "title_generation") heard.title = event.title ?? "";
    // The answer goes on in a socket: the page loads it again, or the page itself is read.
    if (event.type === "stream_handoff") heard.known = true;
    if (event.message) state.value = event;
    else if ("v" in event) patch(state, event);
    else continue;
    heard.conversation ||= state.value.conversation_id ?? "";
    const message = state.value.message;
    if (message?.id) {
      byId.set(message.id, message); // patches change it in place
      heard.known = true;
    }
  }
  heard.messages = [...byId.values()];
  return heard;
}

/** Apply one patch to the open message; what a patch does not name is as in the one before. */
function patch(state, { p, o, v }) {
  if (p !== undefined) state.path = p;
  if (o !== undefined) state.op = o;
  else if (Array.isArray(v) && state.path === "" && v.every((part) => part?.p !== undefined)) state.op = "patch";
  if (state.op === "patch") {
    for (const part of v) apply(state, part.p, part.o, part.v);
    state.op = "patch";
    return;
  }
  apply(state, state.path, state.op, v);
}

function apply(state, path, op, value) {
  const keys = path.split("/").slice(1);
  if (!keys.length) {
    if (typeof value === "object" && value !== null) state.value = value;
    return;
  }
  let place = state.value;
  for (const key of keys.slice(0, -1)) {
    if (typeof place[key] !== "object" || place[key] === null || ["__proto__", "constructor"].includes(key)) return;
    place = place[key];
  }
  const last = keys.at(-1);
  if (last === "__proto__") return;
  if (op === "append" && typeof place[last] === "string") place[last] += value;
  else if (op === "append" && Array.isArray(place[last])) place[last].push(...[value].flat());
  else if (op === "append" && typeof place[last] === "object" && place[last] !== null) Object.assign(place[last], value);
  else if (op === "remove") delete place[last];
  else place[last] = value;
}
