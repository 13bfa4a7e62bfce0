// Messages to the background: from scripts beside a page (few, not trusted), and from the extension's own pages.
import { keepPage, keepTraffic } from "./capture.js";
import { showBadge } from "./health.js";
import { pair } from "./pairing.js";
import { forgetAway, related, remember, search } from "./questions.js";
import { isBarred, readPairing, readSettings, setSkipped, writeSettings } from "./settings.js";
import { readState } from "./database.js";
import { switchSite } from "./switches.js";
import { dropConversation, readNumbers } from "./turns.js";
import { contact, unpair } from "./upload.js";
import { SITES, pattern, placeOf, platformOf } from "../sites/index.js";

const OWN = chrome.runtime.getURL("");
const SEND_SOON_MS = 1000;
const PANEL = "pages/panel.html";
const MAX_PANELS = 20;

// From a page of a site: `platform` is where it really comes from.
const FROM_PAGES = {
  traffic: async (message, { platform }) => sendSoon(await keepTraffic(platform, message)),
  page: async (message, { platform }) => sendSoon(await keepPage(platform, message)),
  "open-panel": async ({ selection }, { tab }) => ({ address: await newPanel(tab, String(selection ?? "")) }),
};

const FROM_OWN = {
  status: async ({ tabId }) => readStatus(await tabOf(tabId)),
  pair: (message) => pair(message),
  unpair: () => unpair(),
  "switch-site": ({ platform, isOn }) => switchSite(platform, isOn),
  pause: async ({ isPaused }) => {
    await writeSettings({ paused: isPaused });
    await showBadge();
  },
  shortcut: ({ isOn }) => writeSettings({ shortcut: isOn }),
  skip: async ({ platform, id, isSkipped }) => {
    await setSkipped(`${platform}/${id}`, isSkipped);
    if (isSkipped) await dropConversation(platform, id);
  },
  "send-now": async () => {
    forgetAway();
    await contact({ isAsked: true });
  },
  search: (message) => search(message),
  related: async ({ tabId }) => related(placeOf((await tabOf(tabId))?.url)),
  panel: async ({ key }, { tab }) => {
    const { panels = {} } = await chrome.storage.session.get("panels");
    const made = panels[key];
    return made && made.tab === tab?.id ? { selection: made.selection } : null;
  },
  remember: ({ text }, { tab }) => remember(placeOf(tab?.url), text),
  "remember-selection": async ({ tabId }) => rememberSelection(await tabOf(tabId)),
  "close-panel": (message, { tab }) => chrome.tabs.sendMessage(tab.id, { kind: "close-panel" }),
};

/** Answer a message; true keeps the channel open for the answer, as browsers ask for. */
export function receive(message, sender, reply) {
  if (sender.id !== chrome.runtime.id) return false;
  const isOwn = (sender.url ?? "").startsWith(OWN);
  const platform = isOwn ? "" : platformOf(sender.url);
  const handler = isOwn ? FROM_OWN[message.kind] : platform && FROM_PAGES[message.kind];
  if (!handler) return false;
  Promise.resolve(handler(message, { platform, tab: sender.tab })).then(
    (value) => reply({ value: value ?? null }),
    (error) => reply({ error: error.message }),
  );
  return true;
}

let timer = 0;

/** Send in a moment, since turns come in rows; an alarm does it if this background is stopped before. */
function sendSoon(kept) {
  if (!kept) return;
  clearTimeout(timer);
  timer = setTimeout(contact, SEND_SOON_MS);
  chrome.runtime.sendMessage({ kind: "changed" }).catch(() => {});
}

/** The address of the panel for one opening in one tab. A site that frames the panel itself has no key and sees it empty. */
async function newPanel(tab, selection) {
  const key = crypto.randomUUID();
  const { panels = {} } = await chrome.storage.session.get("panels");
  const kept = Object.entries(panels).slice(-MAX_PANELS);
  await chrome.storage.session.set({ panels: { ...Object.fromEntries(kept), [key]: { tab: tab.id, selection } } });
  return `${chrome.runtime.getURL(PANEL)}#${key}`;
}

/** The tab of this id; without one, the one in front. */
async function tabOf(id) {
  if (id) return chrome.tabs.get(id).catch(() => null);
  return (await chrome.tabs.query({ active: true, lastFocusedWindow: true }))[0] ?? null;
}

/** Keep the selected text of a tab, and say in its page what became of it. */
export async function rememberSelection(tab, selected = "") {
  const place = placeOf(tab?.url);
  const text = place ? await chrome.tabs.sendMessage(tab.id, { kind: "selection" }).catch(() => "") : "";
  const said = await remember(place, text || selected);
  if (place) await chrome.tabs.sendMessage(tab.id, { kind: "notice", text: said }).catch(() => {});
  return said;
}

/** Open the panel in a tab of a site that is switched on. */
export async function showPanel(tab) {
  if (tab) await chrome.tabs.sendMessage(tab.id, { kind: "show-panel" }).catch(() => {});
}

async function readStatus(tab) {
  const [settings, pairing, numbers] = await Promise.all([readSettings(), readPairing(), readNumbers()]);
  const { last = 0, nextTry = 0, failures = 0 } = await readState("contact", {});
  const place = placeOf(tab?.url);
  const sites = [];
  for (const [platform, { name }] of Object.entries(SITES)) {
    const isAllowed = await chrome.permissions.contains({ origins: [pattern(platform)] });
    sites.push({ platform, name, isAllowed, isOn: settings.sites[platform] === true, health: settings.health[platform] ?? null });
  }
  return {
    server: pairing?.server ?? "",
    user: pairing?.user ?? "",
    isPaired: pairing !== null,
    paused: settings.paused,
    shortcut: settings.shortcut,
    problem: settings.problem,
    sites,
    numbers,
    contact: { last, nextTry, failures },
    place: place && { ...place, isSkipped: await isBarred(`${place.platform}/${place.id}`) },
  };
}
