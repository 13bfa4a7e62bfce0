// What the panel and the side panel ask: the server, or this browser's own copies while it is away.
import { searchCopies } from "./local_search.js";
import { Away, Refusal, post } from "./server.js";
import { readPairing } from "./settings.js";
import { readCopies, readLast } from "./turns.js";
import { unpair } from "./upload.js";
import { SITES } from "../sites/index.js";

const SEARCH_MS = 1500;
const STORE_MS = 15_000;
const AWAY_MS = 10_000; // so long the server is not asked again for each letter
const LIMIT = 10;
let awayUntil = 0;

/** {items, from}: from the server, or from "copies" with a reason in `note`. */
export async function search({ query, platform = "", by_meaning = false }) {
  const pairing = await readPairing();
  if (!pairing) return { items: [], from: "copies", note: "This browser is not paired. Open the settings." };
  try {
    const body = { query, platform, by_meaning, limit: LIMIT };
    return { ...(await ask(pairing, "/captures/search", body)), from: "server", note: "" };
  } catch (error) {
    if (!(error instanceof Away)) return { items: [], from: "server", note: error.message };
    const items = by_meaning ? [] : searchCopies(await readCopies(), query, { platform, limit: LIMIT });
    return { items, from: "copies", note: "Loci is not reachable: only this browser's own copies are searched." };
  }
}

/** {items, note}: what the team knows for the conversation at `place`. */
export async function related(place) {
  const pairing = await readPairing();
  if (!pairing) return { items: [], note: "This browser is not paired. Open the settings." };
  if (!place) return { items: [], note: "Open a conversation on a site that is switched on." };
  const { title, text } = await readLast(place.platform, place.id);
  if (!title && !text) return { items: [], note: "Nothing is known of this conversation yet." };
  try {
    const body = { conversation: conversationOf(place, title), text, limit: LIMIT };
    return { ...(await ask(pairing, "/captures/related", body)), note: "" };
  } catch (error) {
    return { items: [], note: error.message };
  }
}

/** Keep a selected text as one fact; a sentence that says what became of it. */
export async function remember(place, text) {
  const pairing = await readPairing();
  if (!pairing) return "This browser is not paired. Open the settings.";
  if (!place) return "Open a conversation first: the fact is kept beside it.";
  if (!text.trim()) return "Select a text first.";
  const { title } = await readLast(place.platform, place.id);
  try {
    const stored = await ask(pairing, "/captures/remember", { conversation: conversationOf(place, title), text }, STORE_MS);
    const said = { created: "Remembered.", queued: "It waits for a curator." };
    return said[stored.outcome] ?? "Loci knows that already.";
  } catch (error) {
    return error instanceof Away ? `${error.message} Nothing was stored.` : error.message;
  }
}

function conversationOf({ platform, id }, title) {
  return { platform, id, title, url: SITES[platform].address(id) };
}

async function ask(pairing, path, body, timeoutMs = SEARCH_MS) {
  if (path !== "/captures/remember" && Date.now() < awayUntil) throw new Away("Loci is not reachable.");
  try {
    return await post(pairing, path, body, timeoutMs);
  } catch (error) {
    if (error instanceof Away) awayUntil = Date.now() + AWAY_MS;
    if (error instanceof Refusal && error.isRevoked) await unpair("This browser was disconnected in Loci. Its copies are deleted.");
    throw error;
  }
}

/** Ask the server again at once. */
export function forgetAway() {
  awayUntil = 0;
}
