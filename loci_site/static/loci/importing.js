/* Polls the progress of an import while a worker is busy with the file. */
import { askPart } from "./asking.js";

const EVERY_MS = 1500;

async function follow() {
  const shown = document.getElementById("standing");
  if (!shown || !("busy" in shown.dataset)) return;
  try {
    const now = (await askPart(location.href)).getElementById("standing");
    if (now) shown.replaceWith(now);
  } catch {
    // The server may be restarting; try again.
  }
  setTimeout(follow, EVERY_MS);
}

setTimeout(follow, EVERY_MS);
