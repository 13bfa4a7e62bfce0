/* The review page: one card at a time, one key per decision, "u" to undo. */

import { askPart, send } from "./asking.js";

const t = window.lociText;
const root = document.getElementById("review");
const url = root.dataset.url;
const list = root.querySelector("[data-list]");
const place = root.querySelector("[data-place]");
const status = root.querySelector("[data-status]");
const rows = list ? [...list.children] : [];
const UNDO_KEY = "loci-review-undo"; // decisions that can be undone, also after a reload
const STATUS_KEY = "loci-review-said"; // status to show after a reload
const STALE = t("Stale"); // the outcome of a proposal whose target was changed by another decision
const EFFECT_AFTER_MS = 350; // skipping through cards runs no recall
const DECISIONS = new Map(JSON.parse(document.getElementById("review-decisions").textContent).map((each) => [each.verb, each]));
const pastOf = (verb) => DECISIONS.get(verb).past;

const isWide = window.matchMedia("(min-width: 1000px)"); // as in review.css: list and card side by side

let at = -1;
let busy = false;
let swapped = false;
let pending = null; // the AbortController of the card being fetched
let effectTimer = 0;
const fetched = new Map();

const dialog = (name) => root.querySelector(`[data-dialog="${name}"]`);
const card = () => place && place.querySelector(".review-card");
const keyOf = (row) => `${row.dataset.kind}:${row.dataset.id}`;
const isOpen = (row) => !row.dataset.done;
// A key pressed before the next card is loaded must not decide on an unseen card.
const isShown = (row) => Boolean(row && card() && card().dataset.id === row.dataset.id);

function say(words, { bad = false } = {}) {
  status.textContent = words;
  status.classList.toggle("review-bad", bad);
}

/* Past decisions, newest last: {rows: [keys], entries: [[...]], words}. */
function decisions() {
  try {
    return JSON.parse(sessionStorage.getItem(UNDO_KEY)) || [];
  } catch {
    return [];
  }
}

function keep(all) {
  sessionStorage.setItem(UNDO_KEY, JSON.stringify(all.slice(-100)));
  showUndo();
}

function showUndo() {
  const last = decisions().at(-1);
  for (const button of root.querySelectorAll('[data-do="undo"]')) {
    button.disabled = !last;
    button.hidden = button.closest(".loci-empty") !== null && !last;
    button.title = last ? t("Undo: {words}", { words: last.words }) : t("Nothing to undo");
  }
}

async function cardOf(row, signal) {
  const key = keyOf(row);
  if (!fetched.has(key)) {
    const part = askPart(`${url}card/${row.dataset.kind}/${row.dataset.id}/`, { signal });
    fetched.set(key, part);
    part.catch(() => fetched.delete(key));
  }
  return (await fetched.get(key)).cloneNode(true);
}

async function show(to, { isFocused = true } = {}) {
  if (!rows.length) return;
  at = Math.max(0, Math.min(rows.length - 1, to));
  const row = rows[at];
  rows.forEach((each) => each.querySelector(".review-row").removeAttribute("aria-current"));
  row.querySelector(".review-row").setAttribute("aria-current", "true");
  if (isWide.matches) row.scrollIntoView({ block: "nearest" });
  else if (isFocused) place.scrollIntoView({ block: "start" });
  if (pending) pending.abort();
  pending = new AbortController();
  const own = pending;
  place.setAttribute("aria-busy", "true");
  try {
    const part = await cardOf(row, own.signal);
    if (own !== pending) return;
    place.replaceChildren(part);
    swapped = "swapped" in card().dataset;
    prepare(row);
    if (isFocused) place.focus({ preventScroll: true });
  } catch (fault) {
    if (fault.name === "AbortError" || own !== pending) return;
    place.replaceChildren(gone(fault.message));
  }
  place.removeAttribute("aria-busy");
  const after = next(at);
  if (after !== null) cardOf(rows[after]).catch(() => {});
}

function gone(message) {
  const words = document.createElement("p");
  words.className = "loci-card loci-dim";
  words.textContent = message;
  return words;
}

function prepare(row) {
  const shown = card();
  place.scrollTop = 0;
  showUndo();
  showWay();
  if (row.dataset.done) shown.classList.add("review-decided");
  shown.querySelector("[data-effect-verb]")?.addEventListener("change", askEffect);
  shown.addEventListener("change", (event) => {
    if (event.target.name === "other") { showWay(); askEffect(); }
  });
  clearTimeout(effectTimer);
  effectTimer = setTimeout(askEffect, EFFECT_AFTER_MS);
}

function other() {
  const chosen = card().querySelector("[name=other]:checked");
  return chosen ? { id: chosen.value, link: chosen.dataset.link } : { id: "", link: "" };
}

/* The fields of a decision: this memory and the other one, swapped if the user swapped them. */
function fields(verb, extra = {}) {
  const shown = card();
  const two = DECISIONS.get(verb).takesOther;
  const beside = other();
  const own = { id: shown.dataset.memory, other: two ? beside.id : "" };
  const turned = two && swapped ? { id: own.other, other: own.id } : own;
  const link = shown.dataset.link || (two ? beside.link : "");
  const reason = shown.querySelector("[data-reason]").value.trim();
  return { verb, ...turned, link, reason, proposal: shown.dataset.proposal || "", ...extra };
}

function showWay() {
  const way = card().querySelector("[data-way]");
  const button = card().querySelector('[data-do="swap"]');
  if (!button) return;
  button.setAttribute("aria-pressed", String(swapped));
  way.textContent = swapped ? t("Replace: the other text replaces this one. Merge: the other goes into this one.") : t("Replace: this text replaces the other. Merge: this one goes into the other.");
}

async function askEffect() {
  clearTimeout(effectTimer);
  const shown = card();
  if (!shown || shown.classList.contains("review-decided")) return;
  const target = shown.querySelector("[data-effect]");
  const verb = shown.querySelector("[data-effect-verb]")?.value;
  if (!verb) return;
  target.setAttribute("aria-busy", "true");
  try {
    const part = await askPart(`${url}effect/?${new URLSearchParams(fields(verb))}`);
    if (shown === card()) target.replaceChildren(part);
  } catch (fault) {
    target.replaceChildren(gone(fault.message));
  }
  target.removeAttribute("aria-busy");
}

async function decide(verb, extra = {}) {
  const row = rows[at];
  const shown = card();
  if (busy || !isShown(row) || !isOpen(row)) return;
  if (!extra.content && !shown.querySelector(`[data-verb="${verb}"]:not([disabled])`)) {
    say(t("“{verb}” does not apply to this card.", { verb: DECISIONS.get(verb).label }), { bad: true });
    return;
  }
  busy = true;
  place.setAttribute("aria-busy", "true");
  clearTimeout(effectTimer);
  try {
    const answer = await send(`${url}decide/`, fields(verb, extra));
    const words = t("{label}: {text}", { label: pastOf(verb), text: begin(row) });
    done([row], pastOf(verb));
    markStale(answer.stale);
    keep([...decisions(), { rows: [keyOf(row)], entries: [answer.entries], words }]);
    say(t("{label}: {text}.", { label: pastOf(verb), text: answer.said.join(t("; ")) }));
    // The next card may show the memory that was just decided.
    fetched.clear();
    await forth();
  } catch (fault) {
    say(fault.message, { bad: true });
    // A memory may have a new text since: show the card again, unless what was typed would be lost.
    if (fault.status === 409 && !extra.content) {
      fetched.clear();
      await show(at, { isFocused: false });
    }
  } finally {
    busy = false;
    place.removeAttribute("aria-busy");
  }
}

function done(some, outcome) {
  for (const row of some) {
    if (isOpen(row)) countKind(row, -1);
    row.dataset.done = outcome;
    row.querySelector("[data-outcome]").textContent = outcome;
    row.querySelector("input").checked = false;
  }
  count();
}

/* Close the proposals whose target has changed, and open those again that an undo has revived. */
function markStale(ids) {
  const stale = new Set(ids);
  for (const row of rows) {
    if (row.dataset.kind !== "proposal") continue;
    if (isOpen(row) && stale.has(row.dataset.id)) done([row], STALE);
    else if (row.dataset.done === STALE && !stale.has(row.dataset.id)) reopen(row);
  }
}

function reopen(row) {
  if (!isOpen(row)) countKind(row, 1);
  delete row.dataset.done;
  row.querySelector("[data-outcome]").textContent = "";
}

/* Update the counts on the chips; "1,000+" is not exact and stays. */
function countKind(row, by) {
  for (const chip of root.querySelectorAll(`[data-count="all"], [data-count="${row.dataset.kind}"]`)) {
    if (!/^\d+$/.test(chip.textContent)) continue;
    chip.textContent = String(Math.max(0, Number(chip.textContent) + by));
    chip.closest(".review-kind").classList.toggle("review-none", chip.dataset.count !== "all" && chip.textContent === "0");
  }
}

async function undo() {
  const all = decisions();
  const last = all.at(-1);
  if (busy || !last) return;
  busy = true;
  try {
    const answer = await send(`${url}undo/`, { entries: JSON.stringify(last.entries) });
    keep(all.slice(0, -1));
    const mine = rows.filter((row) => last.rows.includes(keyOf(row)));
    mine.forEach(reopen);
    markStale(answer.stale);
    fetched.clear();
    const failed = answer.failed.length ? ` ${t("{count} could not be taken back: {why}", { count: answer.failed.length, why: answer.failed.join(" ") })}` : "";
    say(`${t("Undone: {what}.", { what: answer.said.join(t("; ")) })}${failed}`, { bad: Boolean(failed) });
    if (mine.length) await show(rows.indexOf(mine[0]));
    else {
      sessionStorage.setItem(STATUS_KEY, status.textContent);
      window.location.reload();
    }
  } catch (fault) {
    // A decision that cannot be undone must not block the one before it.
    if (fault.status === 409 || fault.status === 404) keep(all.slice(0, -1));
    say(`${t("Not undone.")} ${fault.message}`, { bad: true });
  } finally {
    busy = false;
  }
}

function next(from) {
  for (let step = 1; step <= rows.length; step += 1) {
    const to = (from + step) % rows.length;
    if (isOpen(rows[to])) return to;
  }
  return null;
}

async function forth() {
  const to = next(at);
  if (to !== null) {
    await show(to);
    return;
  }
  const shown = document.createElement("div");
  shown.className = "loci-empty review-end";
  const head = document.createElement("h2");
  head.textContent = t("All of these are done");
  const more = document.createElement("a");
  more.className = "loci-button loci-primary";
  more.href = window.location.href;
  more.textContent = t("Show more");
  const back = document.createElement("button");
  back.className = "loci-button";
  back.type = "button";
  back.dataset.do = "undo";
  back.textContent = t("Undo the last decision");
  shown.append(head, more, back);
  place.replaceChildren(shown);
  more.focus();
}

/* Many at once */

function chosen() {
  return rows.filter((row) => row.querySelector("input").checked);
}

function count() {
  const some = chosen().length;
  root.querySelector("[data-chosen]").textContent = some ? t("{count} selected", { count: some }) : "";
  root.querySelector("[data-many]").hidden = !some;
  const open = rows.filter(isOpen).length;
  const all = root.querySelector("[data-all]");
  all.checked = some > 0 && some === open;
  all.indeterminate = some > 0 && some < open;
}

/* Decide about the ticked cards, or about all that a token sent, of which this page may list a part. */
async function decideMany(verb, token = "") {
  const some = token ? [] : chosen();
  const given = { verb, token, chosen: some.map(keyOf), reason: card()?.querySelector("[data-reason]")?.value.trim() || "" };
  try {
    const would = await send(`${url}many/`, { ...given, preview: "1" });
    const box = dialog("many");
    const all = would.done + would.failed.length;
    fill(box, would, some, t("{done}: {count} of {all}?", { done: pastOf(verb), count: would.done, all }));
    const go = box.querySelector("[data-many-go]");
    go.hidden = !would.done;
    go.textContent = t("Yes, {count}", { count: would.done });
    box.querySelector("[data-many-cancel]").textContent = t("Cancel");
    if ((await ask(box)) !== "go") return;
    const answer = await send(`${url}many/`, given);
    const failed = new Set(answer.failed.map((each) => each.id));
    const decided = some.filter((row) => !failed.has(row.dataset.id));
    done(decided, pastOf(verb));
    markStale(answer.stale);
    some.forEach((row) => { row.querySelector("input").checked = false; });
    count();
    const words = t("{done}: {count} of {all}", { done: pastOf(verb), count: answer.done, all });
    keep([...decisions(), { rows: decided.map(keyOf), entries: answer.entries, words }]);
    fetched.clear();
    say(t("{words}. “u” undoes all of them.", { words }));
    if (token) {
      sessionStorage.setItem(STATUS_KEY, status.textContent);
      window.location.reload();
      return;
    }
    if (answer.failed.length) {
      fill(box, answer, some, words);
      go.hidden = true;
      box.querySelector("[data-many-cancel]").textContent = t("Close");
      await ask(box);
    }
    if (!isOpen(rows[at])) await forth();
  } catch (fault) {
    say(fault.message, { bad: true });
  }
}

function fill(box, found, some, title) {
  box.querySelector("[data-many-title]").textContent = title;
  const said = box.querySelector("[data-many-said]");
  said.replaceChildren(...found.said.map(({ line, times }) => {
    const item = document.createElement("li");
    item.textContent = times > 1 ? t("{line} ({times} times)", { line, times }) : line;
    return item;
  }));
  const failed = box.querySelector("[data-many-failed]");
  failed.replaceChildren();
  if (!found.failed.length) return;
  const head = document.createElement("h3");
  head.className = "review-small";
  head.textContent = t("{count} not possible", { count: found.failed.length });
  const items = document.createElement("ul");
  items.className = "review-failed";
  for (const each of found.failed.slice(0, 20)) {
    const row = some.find((one) => one.dataset.id === each.id);
    const item = document.createElement("li");
    item.textContent = t("{label}: {text}", { label: row ? `“${begin(row)}”` : each.id, text: each.why });
    items.append(item);
  }
  failed.append(head, items);
}

// The first words of a row, cut where a word ends.
function begin(row) {
  const text = row.querySelector(".review-row-text").textContent.trim().replace(/\s+/g, " ");
  return text.length <= 60 ? text : `${text.slice(0, 60).replace(/\s+\S*$/, "")}…`;
}

function ask(box) {
  box.returnValue = "";
  box.showModal();
  return new Promise((answered) => box.addEventListener("close", () => answered(box.returnValue), { once: true }));
}

async function editText(isMerge) {
  const shown = card();
  if (!isShown(rows[at]) || !isOpen(rows[at])) return;
  if (!shown.querySelector('[data-verb="edit"]')) {
    say(t("The text of this card cannot be edited here."), { bad: true });
    return;
  }
  const box = dialog("edit");
  const text = box.querySelector("textarea");
  const before = shown.querySelector("[data-text]").innerText;
  text.value = before;
  box.querySelector("[data-approves]").hidden = !shown.querySelector('[data-verb="approve"]');
  box.querySelector("[data-merges]").hidden = !shown.querySelector('[data-verb="merge"]');
  const answer = ask(box);
  text.focus();
  const verb = await answer;
  if (!verb) return;
  if (verb !== "merge" && text.value.trim() === before.trim()) {
    say(t("The text is unchanged: nothing was saved."), { bad: true });
    return;
  }
  await decide(verb, { content: text.value });
}

/* Keys and clicks */

function press(verb) {
  if (verb === "edit") editText();
  else decide(verb);
}

const KEYS = {
  u: undo,
  j: () => show(at + 1),
  ArrowRight: () => show(at + 1),
  k: () => show(at - 1),
  ArrowLeft: () => show(at - 1),
  x: swap,
  c: tick,
  w: () => card()?.querySelector("[data-reason]").focus(),
  "?": () => ask(dialog("help")),
};

function swap() {
  if (!card()?.querySelector('[data-do="swap"]')) return;
  swapped = !swapped;
  showWay();
  askEffect();
}

function tick() {
  const box = rows[at]?.querySelector("input");
  if (!box) return;
  box.checked = !box.checked && isOpen(rows[at]);
  count();
  say(box.checked ? t("Selected.") : t("Deselected."));
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const field = event.target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select");
  if (field) {
    if (event.key === "Escape" || (event.key === "Enter" && field.matches("[data-reason]"))) place.focus();
    return;
  }
  const isRadio = event.target.matches?.("[type=radio]");
  if (isRadio && event.key.startsWith("Arrow")) return;
  const choose = /^[1-4]$/.test(event.key) && card()?.querySelectorAll("[name=other]")[Number(event.key) - 1];
  const act = choose ? () => { choose.checked = true; showWay(); askEffect(); } : KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

for (const { verb, key } of DECISIONS.values()) {
  if (key) KEYS[key] = () => press(verb);
}

const DO = { help: KEYS["?"], swap, undo, next: KEYS.j, previous: KEYS.k };
root.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.do) DO[button.dataset.do]();
  else if (button.dataset.verb) press(button.dataset.verb);
  else if (button.dataset.manyVerb) decideMany(button.dataset.manyVerb);
  else if (button.dataset.token) decideMany("reject", button.dataset.token);
  else if (button.matches(".review-row")) show(rows.indexOf(button.closest("li")));
});
root.addEventListener("change", (event) => {
  if (event.target.matches("[data-all]")) {
    rows.filter(isOpen).forEach((row) => { row.querySelector("input").checked = event.target.checked; });
    count();
  } else if (event.target.matches("[data-list] input")) count();
  else if (event.target.matches("#review-group")) event.target.form.submit();
});

showUndo();
if (sessionStorage.getItem(STATUS_KEY)) say(sessionStorage.getItem(STATUS_KEY));
sessionStorage.removeItem(STATUS_KEY);
if (rows.length) show(0, { isFocused: false });
