// The extension's own database: turns, conversations, and what no page may read (the token). A page of a site, and the
// scripts beside it, cannot open it.

const NAME = "loci";
let opened = null;

function open() {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => {
      const db = request.result;
      const turns = db.createObjectStore("turns", { keyPath: ["platform", "conversation", "turn"] });
      turns.createIndex("conversation", ["platform", "conversation"]);
      // A row has one of the two, so each index holds its own rows alone, oldest first.
      turns.createIndex("waiting", ["waiting", "seq"]);
      turns.createIndex("sent", ["sent", "seq"]);
      db.createObjectStore("conversations", { keyPath: ["platform", "id"] });
      db.createObjectStore("state");
    };
    request.onsuccess = () => {
      request.result.onversionchange = () => request.result.close();
      resolve(request.result);
    };
    request.onerror = () => reject(request.error);
  });
  return opened;
}

/** The result of one request of a transaction. */
export function result(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Run `work` with the stores by name in one transaction, and wait until it is on disk. `work` awaits nothing else. */
export async function inTransaction(names, mode, work) {
  const db = await open();
  const transaction = db.transaction(names, mode, { durability: "strict" });
  const ended = new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });
  const stores = Object.fromEntries(names.map((name) => [name, transaction.objectStore(name)]));
  try {
    const value = await work(stores);
    await ended;
    return value;
  } catch (error) {
    if (transaction.error === null) {
      try {
        transaction.abort();
      } catch {
        // it has ended
      }
    }
    ended.catch(() => {});
    throw error;
  }
}

/** A value of the store `state`; `other` if there is none. */
export function readState(key, other = null) {
  return inTransaction(["state"], "readonly", async ({ state }) => (await result(state.get(key))) ?? other);
}

/** Write values of the store `state` by key. */
export function writeState(values) {
  return inTransaction(["state"], "readwrite", async ({ state }) => {
    for (const [key, value] of Object.entries(values)) state.put(value, key);
  });
}
