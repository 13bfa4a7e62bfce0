/* While somebody is at work on the file, ask how far it is, and show that. */
import { askPart } from "./asking.js";

const EVERY_MS = 1500;

async function follow() {
  const shown = document.getElementById("standing");
  if (!shown || !("busy" in shown.dataset)) return;
  try {
    const now = (await askPart(location.href)).getElementById("standing");
    if (now) shown.replaceWith(now);
  } catch {
    // The server may be starting anew; the next try says.
  }
  setTimeout(follow, EVERY_MS);
}

setTimeout(follow, EVERY_MS);
