// Switching a site on and off. A site that is off gets no script at all.
import { showBadge } from "./health.js";
import { readSettings, writeSettings } from "./settings.js";
import { SITES, pattern } from "../sites/index.js";

const CONTENT = ["page/dom.js", "page/frame.js", "page/content.js"];

/** Switch a site on or off, also in the pages that are open. */
export async function switchSite(platform, isOn) {
  if (!(platform in SITES)) throw new Error(`${platform} is not a site that Loci reads.`);
  if (isOn && !(await chrome.permissions.contains({ origins: [pattern(platform)] }))) {
    throw new Error(`Allow Loci to read ${platform} first.`);
  }
  const { sites } = await readSettings();
  await writeSettings({ sites: { ...sites, [platform]: isOn } });
  await register();
  if (isOn) await startInOpenPages(platform);
  await showBadge();
}

/** Make the registered scripts those of the sites that are on. */
export async function register() {
  const { sites } = await readSettings();
  const known = new Set((await chrome.scripting.getRegisteredContentScripts()).map((each) => each.id));
  for (const platform of Object.keys(SITES)) {
    const scripts = scriptsOf(platform);
    const there = scripts.filter((each) => known.has(each.id)).map((each) => each.id);
    if (sites[platform] && !there.length) await chrome.scripting.registerContentScripts(scripts);
    if (!sites[platform] && there.length) await chrome.scripting.unregisterContentScripts({ ids: there });
  }
}

function scriptsOf(platform) {
  const shared = { matches: [pattern(platform)], runAt: "document_start", persistAcrossSessions: true };
  return [
    { id: `${platform}-tap`, js: ["page/tap.js"], world: "MAIN", ...shared },
    { id: `${platform}-page`, js: CONTENT, ...shared },
  ];
}

async function startInOpenPages(platform) {
  for (const tab of await chrome.tabs.query({ url: pattern(platform) })) {
    const target = { tabId: tab.id };
    try {
      await chrome.scripting.executeScript({ target, files: ["page/tap.js"], world: "MAIN", injectImmediately: true });
      await chrome.scripting.executeScript({ target, files: CONTENT, injectImmediately: true });
    } catch {
      // a page that is being left, or an error page
    }
  }
}
