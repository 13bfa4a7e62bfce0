// Pairing by the code that My account shows.
import { showBadge } from "./health.js";
import { cleanServer, post } from "./server.js";
import { writePairing, writeSettings } from "./settings.js";
import { contact } from "./upload.js";

const TIMEOUT_MS = 15_000;

/** Exchange a code for a token of this browser; the user's name. Throws an Error with a sentence for the person. */
export async function pair({ server, code, name }) {
  const address = cleanServer(server);
  const digits = code.replace(/\s/g, "");
  if (!/^[0-9]{6}$/.test(digits)) throw new Error("A code has six digits. My account in Loci shows one.");
  if (!(await chrome.permissions.contains({ origins: [`${new URL(address).protocol}//${new URL(address).hostname}/*`] }))) {
    throw new Error("Allow Loci to reach this address first.");
  }
  const made = await post({ server: address }, "/pair", { code: digits, name }, TIMEOUT_MS);
  await writePairing({ server: address, token: made.token, user: made.user });
  await writeSettings({ problem: "" });
  await showBadge();
  await contact({ isAsked: true });
  return made.user;
}
