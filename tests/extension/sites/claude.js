// A small claude.ai in three generations: 1 and 2 differ in class names and in where ids are sent; in 3 the addresses of the
// traffic have changed, so that only the page can be read.
const GENERATION = Number("@GENERATION@");
const ROOT = "00000000-0000-4000-8000-000000000000";
const BASE = GENERATION === 3 ? "/api/v3/threads" : "/api/organizations/org-1/chat_conversations";
const isTemporary = new URLSearchParams(location.search).has("incognito");
let id = /^\/chat\/([^/]+)/.exec(location.pathname)?.[1] ?? "";
let last = ROOT;

function draw(role, text) {
  const turn = document.createElement("div");
  const body = document.createElement("div");
  if (GENERATION === 3) body.dataset.messageRole = role;
  else if (role === "user") body.dataset.testid = "user-message";
  else body.className = GENERATION === 1 ? "font-claude-message" : "font-claude-response";
  body.textContent = text;
  turn.append(body);
  document.getElementById("turns").append(turn);
  return body;
}

async function load() {
  const listed = await (await fetch(`${BASE}_list`)).json();
  for (const each of listed) {
    const link = document.createElement("a");
    link.href = `/chat/${each.uuid}`;
    link.textContent = each.name;
    document.getElementById("history").append(link);
  }
  if (!id) return;
  const body = await (await fetch(`${BASE}/${id}?tree=True&rendering_mode=messages`)).json();
  document.title = `${body.name} - Claude`;
  const byId = new Map(body.chat_messages.map((message) => [message.uuid, message]));
  const way = [];
  for (let at = body.current_leaf_message_uuid; byId.has(at); at = byId.get(at).parent_message_uuid) way.unshift(byId.get(at));
  document.getElementById("turns").replaceChildren();
  for (const message of way) draw(message.sender === "human" ? "user" : "assistant", message.content[0].text);
  last = way.at(-1)?.uuid ?? ROOT;
}

/** Ask, after the message `parent`; an edit passes the parent of what it replaces. */
async function say(prompt, parent = last) {
  if (!id) {
    id = crypto.randomUUID();
    const made = { uuid: id, name: "", is_temporary: isTemporary };
    await fetch(BASE, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(made) });
    history.pushState({}, "", `/chat/${id}${isTemporary ? "?incognito" : ""}`);
  }
  const sent = { prompt, parent_message_uuid: parent, rendering_mode: "messages" };
  const names = { human_message_uuid: crypto.randomUUID(), assistant_message_uuid: crypto.randomUUID() };
  if (GENERATION !== 1) sent.turn_message_uuids = names;
  draw("user", prompt);
  const answer = draw("assistant", "");
  answer.dataset.isStreaming = "true";
  const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(sent) };
  const response = await fetch(new Request(`${BASE}/${id}/completion`, init));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = JSON.parse(block.split("data: ")[1]);
      if (event.delta?.text) answer.textContent += event.delta.text;
      if (event.message) last = event.message.uuid;
    }
  }
  delete answer.dataset.isStreaming;
}

document.getElementById("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  say(document.getElementById("prompt").value);
});
window.say = say;
load();
