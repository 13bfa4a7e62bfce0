// A small chatgpt.com in three generations: whole messages in the stream; patches; a form that nobody knows yet.
const GENERATION = Number("@GENERATION@");
const POST = GENERATION === 1 ? "/backend-api/conversation" : "/backend-api/f/conversation";
const isTemporary = new URLSearchParams(location.search).get("temporary-chat") === "true";
let id = /\/c\/([^/]+)/.exec(location.pathname)?.[1] ?? "";
let last = "client-created-root";

function draw(role, name) {
  const body = document.createElement("div");
  const turn = document.createElement(GENERATION === 1 ? "div" : GENERATION === 2 ? "article" : "section");
  if (GENERATION !== 1) turn.dataset.turn = role;
  else turn.dataset.testid = "conversation-turn-1";
  if (GENERATION !== 3) Object.assign(body.dataset, { messageAuthorRole: role, messageId: name });
  turn.append(body);
  document.getElementById("turns").append(turn);
  return body;
}

async function load() {
  const listed = await (await fetch("/backend-api/conversations")).json();
  for (const each of listed) {
    const link = document.createElement("a");
    link.href = `/c/${each.id}`;
    link.textContent = each.title;
    document.getElementById("history").append(link);
  }
  if (!id) return;
  const body = await (await fetch(`/backend-api/conversation/${id}`)).json();
  document.title = body.title;
  document.getElementById("turns").replaceChildren();
  for (const message of body.shown) {
    draw(message.role, message.id).textContent = message.text;
    last = message.id;
  }
}

async function say(prompt, parent = last) {
  const name = crypto.randomUUID();
  const message = { id: name, author: { role: "user" }, content: { content_type: "text", parts: [prompt] } };
  const sent = { action: "next", messages: [message], parent_message_id: parent, history_and_training_disabled: isTemporary };
  if (id) sent.conversation_id = id;
  draw("user", name).textContent = prompt;
  const response = await fetch(POST, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(sent) });
  await response.text();
  id = response.headers.get("X-Conversation");
  history.pushState({}, "", `/c/${id}${location.search}`);
  await load();
}

document.getElementById("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  say(document.getElementById("prompt").value);
});
window.say = say;
load();
