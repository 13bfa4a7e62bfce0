// Whether a site can still be read, shown on the extension's button.
import { readPairing, readSettings, writeSettings } from "./settings.js";

/** Note how a site was read last: "traffic", "page" (its traffic brings nothing), or "blind" with what was not understood. */
export async function noteHealth(platform, state, what = "") {
  const { health } = await readSettings();
  const before = health[platform]?.state;
  // The page stands in for unreadable traffic; the badge stays until traffic is read again.
  if (before === state || (before === "blind" && state === "page")) return;
  await writeSettings({ health: { ...health, [platform]: { state, what, since: new Date().toISOString() } } });
  await showBadge();
}

/** Show what needs the person on the button. */
export async function showBadge() {
  const { health, sites, paused, problem } = await readSettings();
  const blind = Object.keys(health).filter((platform) => sites[platform] && health[platform].state === "blind");
  const isOn = Object.values(sites).some(Boolean);
  const isPaired = (await readPairing()) !== null;
  let [text, title] = ["", "Loci"];
  if (blind.length) [text, title] = ["!", `Loci cannot read ${blind.join(" and ")} as it is now. Look for a newer version.`];
  else if (problem) [text, title] = ["!", problem];
  else if (isOn && !isPaired) [text, title] = ["!", "Loci: pair this browser in the settings."];
  else if (paused) [text, title] = ["II", "Loci is paused"];
  await chrome.action.setBadgeBackgroundColor({ color: text === "!" ? "#b3261e" : "#5f6368" });
  await chrome.action.setBadgeText({ text });
  await chrome.action.setTitle({ title });
}
