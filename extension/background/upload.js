// Contact with the server: first what was removed there, then what waits here.
import { readState, writeState } from "./database.js";
import { delayMs } from "./delays.js";
import { showBadge } from "./health.js";
import { Away, Refusal, post } from "./server.js";
import { readPairing, readSettings, writeSettings } from "./settings.js";
import { SITES } from "../sites/index.js";
import { dropAll, forget, readNumbers, readWaiting, settle } from "./turns.js";

const MAX_TURNS = 200;
const MAX_CHARS = 800_000; // below the server's 4 MB in any script
const CONTACT_MS = 15 * 60_000; // how often the server is asked for removed turns
const TIMEOUT_MS = 60_000;
let running = null;

/** Send what waits and delete what was removed; `isAsked` does not wait for the next time that is due. */
export function contact({ isAsked = false } = {}) {
  running ??= meet(isAsked).finally(() => {
    running = null;
  });
  return running;
}

async function meet(isAsked) {
  const pairing = await readPairing();
  const { paused } = await readSettings();
  if (!pairing || paused) return;
  const { nextTry = 0, failures = 0, last = 0 } = await readState("contact", {});
  const { waiting } = await readNumbers();
  const isDue = waiting > 0 || Date.now() - last > CONTACT_MS;
  if (!isAsked && (!isDue || Date.now() < nextTry)) return;
  try {
    await deleteRemoved(pairing);
    await sendWaiting(pairing);
    await writeState({ contact: { nextTry: 0, failures: 0, last: Date.now() } });
    await setProblem("");
  } catch (error) {
    await put(error, failures + 1, last);
  }
}

/** Note why a contact failed and when to try again. */
async function put(error, failures, last) {
  if (error instanceof Refusal && error.isRevoked) {
    await unpair("This browser was disconnected in Loci. Its copies are deleted.");
    return;
  }
  if (!(error instanceof Refusal) && !(error instanceof Away)) throw error;
  const wait = delayMs(failures, error.retryAfterMs);
  await writeState({ contact: { nextTry: Date.now() + wait, failures, last } });
  await setProblem(error instanceof Away ? "" : error.message);
}

async function setProblem(problem) {
  if ((await readSettings()).problem !== problem) await writeSettings({ problem });
  await showBadge();
}

/** Forget the server and everything that this browser holds. */
export async function unpair(problem = "") {
  await dropAll();
  await writeSettings({ problem });
  await showBadge();
}

/** Delete the copies of turns that were purged, or deleted with their conversation, since the last time. */
async function deleteRemoved(pairing) {
  for (let more = true; more; ) {
    const since = await readState("since");
    const answer = await post(pairing, "/captures/removed", { since }, TIMEOUT_MS);
    await forget(answer.items);
    await writeState({ since: answer.until });
    more = answer.more && answer.items.length > 0;
  }
}

async function sendWaiting(pairing) {
  for (;;) {
    const rows = await readWaiting(MAX_TURNS, MAX_CHARS);
    if (!rows.length) return;
    await sendRows(pairing, rows);
    chrome.runtime.sendMessage({ kind: "changed" }).catch(() => {});
  }
}

/** Send these rows. What is refused as a whole is sent in halves, so that one bad turn holds no other back. */
async function sendRows(pairing, rows) {
  let answer;
  try {
    answer = await post(pairing, "/captures", { conversations: grouped(rows) }, TIMEOUT_MS);
  } catch (error) {
    if (!(error instanceof Refusal && error.isFinal)) throw error;
    if (rows.length === 1) {
      await settle([{ row: rows[0], outcome: "refused" }]);
      return;
    }
    const half = Math.ceil(rows.length / 2);
    await sendRows(pairing, rows.slice(0, half));
    await sendRows(pairing, rows.slice(half));
    return;
  }
  const outcomes = new Map();
  for (const each of answer.conversations) {
    for (const turn of each.turns) outcomes.set(`${each.platform}/${each.id}/${turn.id}`, turn.outcome);
  }
  // What an answer does not name was not settled; it must not be asked for again at once.
  const settled = rows.map((row) => ({ row, outcome: outcomes.get(`${row.platform}/${row.conversation}/${row.turn}`) }));
  if (settled.some((each) => each.outcome === undefined)) throw new Away("The server's answer is not complete.");
  await settle(settled);
}

/** Rows as the server takes them. */
function grouped(rows) {
  const found = new Map();
  for (const row of rows) {
    const name = `${row.platform}/${row.conversation}`;
    if (!found.has(name)) {
      const url = SITES[row.platform].address(row.conversation);
      found.set(name, { platform: row.platform, id: row.conversation, title: row.title, url, turns: [] });
    }
    found.get(name).turns.push({ id: row.turn, role: row.role, text: row.text, at: row.at });
  }
  return [...found.values()];
}
