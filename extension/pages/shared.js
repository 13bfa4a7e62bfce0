// What the extension's pages share: questions to the background, and lists of what was found.

/** The background's answer. Throws an Error with its sentence. */
export async function ask(kind, values = {}) {
  const answer = await chrome.runtime.sendMessage({ kind, ...values });
  if (answer?.error) throw new Error(answer.error);
  return answer?.value ?? null;
}

/** An element with attributes and children; text is always text. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A found conversation, turn or memory as a list's item. */
export function resultItem(item, server) {
  const title = item.title || (item.kind === "memory" ? "Memory" : "Conversation");
  const facts = [item.platform || "Loci", item.group, item.date, item.type === "episodic" ? "" : item.type].filter(Boolean);
  const link = element(
    "a",
    { href: addressOf(item, server), target: "_blank", rel: "noopener noreferrer" },
    element("span", { class: "title" }, title),
    element("span", {}, ...marked(item.excerpt, item.marks)),
    element("span", { class: "dim small" }, facts.join(" · ")),
  );
  return element("li", {}, link);
}

/** Where a found thing can be read; addresses that are not https lead to Loci's own pages. */
function addressOf(item, server) {
  if (/^https:\/\//.test(item.url)) return item.url;
  return item.kind === "memory" ? `${server}/admin/memories/memory/${encodeURIComponent(item.id)}/change/` : `${server}/admin/conversations/`;
}

/** A text with its ranges marked; ranges count whole characters. */
export function marked(text, marks = []) {
  const characters = Array.from(text);
  const parts = [];
  let end = 0;
  for (const [start, stop] of marks) {
    if (start < end) continue;
    parts.push(characters.slice(end, start).join(""), element("mark", {}, characters.slice(start, stop).join("")));
    end = stop;
  }
  return [...parts, characters.slice(end).join("")];
}

/** "1 turn", "2 turns". */
export function counted(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** The tab that this page is about, where its address names one. */
export function pinnedTab() {
  return Number(new URLSearchParams(location.search).get("tab")) || undefined;
}

/** How a site is being read, in words; "" if all is well. */
export function healthText({ name, health }) {
  if (health?.state === "blind") return `${name} has changed and its traffic cannot be read (${health.what}). Loci tries the page itself.`;
  if (health?.state === "page") return `${name} is read from the page, because its traffic brings nothing.`;
  return "";
}
