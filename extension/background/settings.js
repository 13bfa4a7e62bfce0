// What the person has set. The token is not here: scripts beside a page can read this storage.
import { writeState, readState } from "./database.js";

const DEFAULTS = { sites: {}, paused: false, shortcut: true, skipped: [], health: {}, problem: "" };
const MAX_SKIPPED = 2000;

/** All settings. */
export async function readSettings() {
  return { ...DEFAULTS, ...(await chrome.storage.local.get(Object.keys(DEFAULTS))) };
}

export function writeSettings(values) {
  return chrome.storage.local.set(values);
}

/** {server, token, user} of the paired server; null if there is none. */
export function readPairing() {
  return readState("pairing");
}

export function writePairing(pairing) {
  return writeState({ pairing });
}

/** Keep a conversation out from now on, or no longer. */
export async function setSkipped(name, isSkipped) {
  const { skipped } = await readSettings();
  const others = skipped.filter((each) => each !== name);
  await writeSettings({ skipped: isSkipped ? [...others, name].slice(-MAX_SKIPPED) : others });
}

/** Temporary conversations are remembered until the browser is closed, by name alone. */
export async function noteTemporary(name) {
  const { temporary = [] } = await chrome.storage.session.get("temporary");
  if (!temporary.includes(name)) await chrome.storage.session.set({ temporary: [...temporary, name] });
}

/** True if nothing of a conversation may be kept. */
export async function isBarred(name) {
  const { temporary = [] } = await chrome.storage.session.get("temporary");
  const { skipped } = await readSettings();
  return temporary.includes(name) || skipped.includes(name);
}
