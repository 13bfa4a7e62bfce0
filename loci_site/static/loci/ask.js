/* Matches while a person types, in all groups that the person may read, and the sliders for the past. Enter asks. */
import { askJson } from "./asking.js";

const PAUSE_MS = 60, MEANING_MS = 350, LEAST = 2, STEPS = 1000;
const { HOW, marked } = window.lociMatches, t = window.lociText;
const form = document.getElementById("ask"), field = document.getElementById("q"), box = document.getElementById("typed");
const list = box.querySelector("div"), note = box.querySelector("[role=status]"), asked = field.value;
let timers = [], latest = 0;

// Matches by meaning arrive later than those by words: the focus stays on the match that a reader has reached.
function show(items, text) {
  const held = list.contains(document.activeElement) ? document.activeElement.href : "";
  list.replaceChildren(...items.map(line));
  [...list.children].find((link) => link.href === held)?.focus();
  note.textContent = items.length ? t(items.length === 1 ? "1 match in all your groups. Press Enter to ask." : "{count} matches in all your groups. Press Enter to ask.", { count: items.length }) : t("Nothing begins with “{text}”. Press Enter to ask.", { text });
  box.hidden = false;
}

async function match(mine, text, byMeaning, known) {
  try {
    const body = await askJson(`${box.dataset.suggest}?${new URLSearchParams({ q: field.value, by_meaning: byMeaning })}`);
    if (mine !== latest) return known;
    const ids = new Set();
    const found = [...known, ...body.items, ...body.threads].filter((item) => !ids.has(item.id) && ids.add(item.id));
    show(found, text);
    return found;
  } catch (refusal) {
    if (mine === latest) { note.textContent = refusal.message; box.hidden = false; }
    return known;
  }
}

function line(item) {
  const link = made("a", "loci-row"), text = made("span", "loci-row-text"), about = made("span", "loci-dim");
  link.href = (item.type ? box.dataset.memory : box.dataset.thread).replace("ID", item.id); // a thread has no type
  const details = !item.type ? [t("Thread"), item.group, item.date] : [item.state === "live" ? "" : t.word(item.state), item.trust === "active" ? "" : t.word(item.trust), t.word(item.type), item.group, item.thread || item.source, item.date, HOW[item.how]];
  about.textContent = details.filter(Boolean).join(" · ");
  text.append(marked(item.text, item.marks), made("br"), about);
  link.append(text);
  return link;
}

function made(name, kind = "") {
  return Object.assign(document.createElement(name), { className: kind });
}

field.addEventListener("input", () => {
  timers.forEach(clearTimeout);
  latest += 1;
  const mine = latest, text = field.value.trim();
  if (text.length < LEAST || field.value === asked) { box.hidden = true; return; }
  let words = Promise.resolve([]);
  timers = [
    setTimeout(() => { words = match(mine, text, false, []); }, PAUSE_MS),
    setTimeout(async () => { const known = await words; if (mine === latest) match(mine, text, true, known); }, MEANING_MS),
  ];
});
field.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" && !box.hidden && list.firstChild) { event.preventDefault(); list.firstChild.focus(); }
  if (event.key === "Escape") box.hidden = true;
});
list.addEventListener("keydown", (event) => {
  const step = { ArrowDown: "nextSibling", ArrowUp: "previousSibling" }[event.key];
  if (!step) return;
  event.preventDefault();
  (document.activeElement[step] || field).focus();
});
// The address of a question says only what was chosen.
form.addEventListener("formdata", ({ formData }) => {
  for (const [name, value] of [...formData]) if (!value) formData.delete(name);
});

for (const past of document.querySelectorAll(".question-past")) {
  const { start, zone } = past.closest("[data-start]").dataset, [slider, moment] = past.querySelectorAll("input");
  // Swedes write dates as ISO 8601 does.
  const local = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "short" });
  const first = Date.parse(start), now = Date.now();
  if (slider.dataset.at) slider.value = Math.round(((Date.parse(slider.dataset.at) - first) / (now - first)) * STEPS);
  slider.addEventListener("input", () => {
    const isNow = Number(slider.value) === STEPS;
    const at = first + ((now - first) * Number(slider.value)) / STEPS;
    const text = isNow ? t("now") : local.format(at);
    past.querySelector("output").textContent = text;
    slider.setAttribute("aria-valuetext", text);
    moment.value = isNow ? "" : new Date(at).toISOString(); // an address means the same in every zone
  });
  slider.addEventListener("change", () => { if (field.value.trim()) form.requestSubmit(); });
}
