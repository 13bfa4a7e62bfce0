import { ask, pinnedTab, resultItem } from "./shared.js";

const at = (id) => document.getElementById(id);
const AGAIN_MS = 500;
let timer = 0;
let last = 0;

async function show() {
  const number = ++last;
  const [{ items, note }, { server }] = await Promise.all([ask("related", { tabId: pinnedTab() }), ask("status")]);
  if (number !== last) return;
  at("note").textContent = note || (items.length ? "" : "Nothing near this conversation.");
  at("results").replaceChildren(...items.map((item) => resultItem(item, server)));
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(show, AGAIN_MS);
}

at("again").addEventListener("click", show);
chrome.tabs.onActivated.addListener(soon);
chrome.tabs.onUpdated.addListener((id, changed) => {
  if (changed.url || changed.status === "complete") soon();
});
chrome.runtime.onMessage.addListener((message) => {
  if (message.kind === "changed") soon();
});
show();
