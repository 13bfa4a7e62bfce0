// The panel over a page. Its address has a key that one opening in one tab was given; a site that frames it has none.
import { ask, counted, resultItem } from "./shared.js";

const at = (id) => document.getElementById(id);
const LETTER_MS = 30;
const PAUSE_MS = 400; // then also by meaning
let last = 0;
let timer = 0;
let selection = "";
let server = "";

function show({ items, note }) {
  at("note").textContent = note || (at("query").value.trim() ? `${counted(items.length, "result")}.` : "");
  at("results").replaceChildren(...items.map((item) => resultItem(item, server)));
}

async function search() {
  const number = ++last;
  const query = at("query").value.trim();
  if (!query) return show({ items: [], note: "" });
  const asked = { query, platform: at("platform").value };
  const found = await ask("search", asked);
  if (number !== last) return;
  show(found);
  if (found.from !== "server") return;
  timer = setTimeout(() => addByMeaning(asked, found, number), PAUSE_MS);
}

async function addByMeaning(asked, found, number) {
  const more = await ask("search", { ...asked, by_meaning: true });
  if (number !== last || more.from !== "server") return;
  const known = new Set(found.items.map((item) => item.id));
  show({ items: [...found.items, ...more.items.filter((item) => !known.has(item.id))], note: found.note });
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(search, LETTER_MS);
}

function move(event) {
  const links = [at("query"), ...document.querySelectorAll("#results a")];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const place = links.indexOf(document.activeElement);
  if (!step || place < 0) return;
  event.preventDefault();
  links[Math.min(Math.max(place + step, 0), links.length - 1)].focus();
}

at("form").addEventListener("submit", (event) => event.preventDefault());
at("query").addEventListener("input", soon);
at("platform").addEventListener("change", soon);
at("close").addEventListener("click", () => ask("close-panel"));
document.addEventListener("keydown", (event) => {
  const isShortcut = (event.ctrlKey || event.metaKey) && event.code === "KeyK";
  if (event.key === "Escape" || isShortcut) {
    event.preventDefault();
    ask("close-panel");
  } else move(event);
});
at("remember").addEventListener("click", async () => {
  at("remember").disabled = true;
  at("said").textContent = await ask("remember", { text: selection });
});

async function start() {
  const panel = await ask("panel", { key: location.hash.slice(1) });
  if (!panel) {
    document.body.replaceChildren();
    return;
  }
  selection = panel.selection.trim();
  at("selection").hidden = !selection;
  at("selected").textContent = selection.length > 200 ? `${selection.slice(0, 200)}…` : selection;
  const status = await ask("status");
  server = status.server;
  for (const { platform, name } of status.sites) at("platform").append(new Option(name, platform));
  at("query").focus();
}
start();
