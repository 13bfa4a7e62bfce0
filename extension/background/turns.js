// The turns of this browser: those that wait for the server, and the last ones that it has.
import { inTransaction, result, readState, writeState } from "./database.js";
import { findRow, keptName, onlyOnPage } from "./matching.js";

export const MAX_WAITING_BYTES = 50 * 1024 * 1024;
export const MAX_COPIES = 2000;
const EMPTY = { seq: 0, waiting: 0, bytes: 0, copies: 0, isFull: false };
const ALL = ["turns", "conversations", "state"];

/** A keyed hash of a turn's text, so that a deleted text leaves nothing that could be guessed from outside. */
async function hash(salt, { role, text }) {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${salt}\n${role}\n${text}`));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function salted(turns) {
  let salt = await readState("salt");
  if (!salt) {
    salt = crypto.randomUUID();
    await writeState({ salt });
  }
  return Promise.all(turns.map(async (turn) => ({ ...turn, sha: await hash(salt, turn), bytes: turn.text.length * 2 })));
}

/** Keep new and changed turns of a conversation until they are sent; returns how many. */
export async function take({ platform, id, title, turns }) {
  return keep({ platform, id, title }, await salted(turns), () => null);
}

/** Keep the turns of a page that the traffic did not bring; returns how many. */
export async function takeFromPage({ platform, id, title, turns, at }) {
  const hashed = await salted(turns.map((turn) => ({ ...turn, at })));
  return keep({ platform, id, title }, hashed, (rows) => onlyOnPage(rows, hashed));
}

function keep({ platform, id, title }, turns, chosen) {
  return inTransaction(ALL, "readwrite", async (stores) => {
    const rows = await result(stores.turns.index("conversation").getAll([platform, id]));
    const counts = await readCounts(stores);
    const known = (await result(stores.conversations.get([platform, id]))) ?? { platform, id, title: "" };
    let kept = 0;
    for (const turn of chosen(rows) ?? turns) {
      const before = turn.page ? rows.find((row) => row.ids.includes(turn.id)) ?? null : findRow(rows, turn);
      if (before?.page && !turn.page) nameAfterSite(stores, before, turn, rows);
      if (before?.sha === turn.sha) continue;
      if (counts.bytes + turn.bytes > MAX_WAITING_BYTES) {
        counts.isFull = true;
        continue;
      }
      const row = rowOf({ platform, conversation: id }, turn, before, rows, ++counts.seq);
      leave(counts, before);
      enter(counts, row);
      stores.turns.put(row);
      if (before) rows.splice(rows.indexOf(before), 1);
      rows.push(row);
      kept += 1;
    }
    if (title && title !== known.title) known.title = title;
    stores.conversations.put({ ...known, seen: Date.now() });
    stores.state.put(counts, "counts");
    return kept;
  });
}

/** A row read from the page gets the site's own name for it, so that it is not kept twice. */
function nameAfterSite(stores, row, turn, rows) {
  if (row.ids.includes(turn.id)) return;
  row.ids.push(turn.id);
  row.parent = keptName(rows, turn.parent);
  stores.turns.put(row);
}

function rowOf(place, turn, before, rows, seq) {
  return {
    ...place,
    turn: before?.turn ?? turn.id,
    ids: [...new Set([...(before?.ids ?? []), turn.id])],
    parent: before ? before.parent : keptName(rows, turn.parent),
    role: turn.role,
    text: turn.text,
    at: turn.at,
    sha: turn.sha,
    bytes: turn.bytes,
    page: turn.page === true,
    waiting: 1,
    seq,
  };
}

async function readCounts({ state }) {
  return { ...EMPTY, ...(await result(state.get("counts"))) };
}

function enter(counts, row) {
  if (row.waiting) {
    counts.waiting += 1;
    counts.bytes += row.bytes;
  }
  if (row.sent) counts.copies += 1;
}

function leave(counts, row) {
  if (row?.waiting) {
    counts.waiting -= 1;
    counts.bytes -= row.bytes;
    counts.isFull = false;
  }
  if (row?.sent) counts.copies -= 1;
}

/** Turns that wait, oldest first: at most `most`, and at least one, in `maxChars`; each with its conversation's title. */
export function readWaiting(most, maxChars) {
  return inTransaction(["turns", "conversations"], "readonly", async ({ turns, conversations }) => {
    const found = await result(turns.index("waiting").getAll(IDBKeyRange.bound([1, 0], [1, Infinity]), most));
    let chars = 0;
    const batch = found.filter((row, n) => (chars += row.text.length) <= maxChars || n === 0);
    const titles = new Map();
    for (const row of batch) {
      const key = `${row.platform}/${row.conversation}`;
      if (!titles.has(key)) titles.set(key, (await result(conversations.get([row.platform, row.conversation])))?.title ?? "");
      row.title = titles.get(key);
    }
    return batch;
  });
}

/** Note what became of sent turns. One that was edited since waits on; the text of a refused one is deleted. */
export function settle(outcomes) {
  return inTransaction(["turns", "state"], "readwrite", async (stores) => {
    const counts = await readCounts(stores);
    for (const { row: sent, outcome } of outcomes) {
      const row = await result(stores.turns.get([sent.platform, sent.conversation, sent.turn]));
      if (!row?.waiting || row.sha !== sent.sha) continue;
      leave(counts, row);
      const settled = outcome === "refused" ? withoutText(row) : asSent(row);
      enter(counts, settled);
      stores.turns.put(settled);
    }
    await trim(stores, counts);
    stores.state.put(counts, "counts");
  });
}

function asSent({ waiting, ...row }) {
  return { ...row, sent: 1 };
}

/** What stays of a turn that must not be kept: enough to know it again. */
function withoutText({ platform, conversation, turn, ids, parent, role, sha, page, seq }) {
  return { platform, conversation, turn, ids, parent, role, sha, page, seq, bytes: 0 };
}

/** Delete the oldest copies beyond the limit. */
async function trim({ turns }, counts) {
  const over = counts.copies - MAX_COPIES;
  if (over <= 0) return;
  const range = IDBKeyRange.bound([1, 0], [1, Infinity]);
  for (const key of await result(turns.index("sent").getAllKeys(range, over))) turns.delete(key);
  counts.copies -= over;
}

/** Delete the texts of turns that were removed on the server: {platform, conversation, turn} each. */
export function forget(items) {
  return inTransaction(["turns", "state"], "readwrite", async (stores) => {
    const counts = await readCounts(stores);
    for (const item of items) {
      const row = await result(stores.turns.get([item.platform, item.conversation, item.turn]));
      if (!row) continue;
      leave(counts, row);
      stores.turns.put(withoutText(row));
    }
    stores.state.put(counts, "counts");
  });
}

/** Delete all that is held of one conversation. */
export function dropConversation(platform, id) {
  return inTransaction(ALL, "readwrite", async (stores) => {
    const counts = await readCounts(stores);
    for (const row of await result(stores.turns.index("conversation").getAll([platform, id]))) {
      leave(counts, row);
      stores.turns.delete([row.platform, row.conversation, row.turn]);
    }
    stores.conversations.delete([platform, id]);
    stores.state.put(counts, "counts");
  });
}

/** Delete all turns and conversations, and everything in `state`. */
export function dropAll() {
  return inTransaction(ALL, "readwrite", async (stores) => {
    for (const store of Object.values(stores)) store.clear();
  });
}

/** How many turns wait and are held, and whether there is room. */
export function readNumbers() {
  return inTransaction(["state"], "readonly", readCounts);
}

/** Every turn with a text, with its conversation's title; newest first. */
export function readCopies() {
  return inTransaction(["turns", "conversations"], "readonly", async ({ turns, conversations }) => {
    const named = await result(conversations.getAll());
    const titles = new Map(named.map((each) => [`${each.platform}/${each.id}`, each.title]));
    const rows = (await result(turns.getAll())).filter((row) => row.text !== undefined);
    for (const row of rows) row.title = titles.get(`${row.platform}/${row.conversation}`) ?? "";
    return rows.sort((a, b) => b.seq - a.seq);
  });
}

/** The title and the last turn of a conversation, as far as this browser knows them. */
export function readLast(platform, id) {
  return inTransaction(["turns", "conversations"], "readonly", async ({ turns, conversations }) => {
    const rows = await result(turns.index("conversation").getAll([platform, id]));
    const last = rows.filter((row) => row.text !== undefined).sort((a, b) => a.seq - b.seq).at(-1);
    return { title: (await result(conversations.get([platform, id])))?.title ?? "", text: last?.text ?? "" };
  });
}
