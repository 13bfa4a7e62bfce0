// What the scripts beside a page send: checked, read, and kept unless it must not be.
import { noteHealth } from "./health.js";
import { isBarred, noteTemporary, readPairing, readSettings } from "./settings.js";
import { SITES } from "../sites/index.js";
import { Unreadable, cleanId } from "../sites/stream.js";
import { dropConversation, take, takeFromPage } from "./turns.js";

const GENERIC = /^(claude|chatgpt|new chat|untitled)?$/i;

/** True while a site is switched on, nothing is paused, and there is a server to keep things for. */
async function isWanted(platform) {
  const { sites, paused } = await readSettings();
  return sites[platform] === true && !paused && (await readPairing()) !== null;
}

/** Keep the turns of one exchange between page and site; returns how many were new. */
export async function keepTraffic(platform, message) {
  if (!(await isWanted(platform))) return 0;
  let found;
  try {
    const traffic = JSON.parse(message.traffic);
    if (new URL(traffic.url).hostname !== platform) return 0;
    found = SITES[platform].read(traffic);
  } catch (error) {
    await noteHealth(platform, "blind", error instanceof Unreadable ? error.message : "an unknown form");
    return 0;
  }
  if (!found.id) return 0;
  const name = `${platform}/${found.id}`;
  if (found.temporary) {
    await noteTemporary(name);
    await dropConversation(platform, found.id);
    return 0;
  }
  if (found.turns.length) await noteHealth(platform, "traffic");
  if (await isBarred(name)) return 0;
  return take({ platform, ...found, title: found.title || pageTitle(message.title) });
}

/** Keep the turns that only the page itself shows; returns how many were new. */
export async function keepPage(platform, message) {
  const id = cleanId(message.id);
  // A conversation that the site does not list in its own history may be a temporary one.
  if (!id || !message.listed || !(await isWanted(platform)) || (await isBarred(`${platform}/${id}`))) return 0;
  const turns = message.turns
    .filter((turn) => ["user", "assistant"].includes(turn.role) && typeof turn.text === "string" && turn.text)
    .map(({ role, text, id: name }) => ({ role, text, id: cleanId(name) }));
  const kept = await takeFromPage({ platform, id, title: pageTitle(message.title), turns, at: new Date().toISOString() });
  if (kept) await noteHealth(platform, "page");
  return kept;
}

/** The conversation's title from the window's, which adds the site's name; "" while it has none. */
export function pageTitle(text) {
  const title = String(text ?? "").replace(/\s*[-|–\\]\s*(Claude|ChatGPT)$/, "").replace(/^ChatGPT\s*[-|–]\s*/, "").trim();
  return GENERIC.test(title) ? "" : title.slice(0, 200);
}
