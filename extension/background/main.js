// The background: a service worker in Chrome, an event page in Firefox. It holds nothing in memory that must not be lost.
import { showBadge } from "./health.js";
import { receive, rememberSelection, showPanel } from "./messages.js";
import { register } from "./switches.js";
import { contact } from "./upload.js";
import { SITES, pattern } from "../sites/index.js";

const MENU = "remember";
const ALARM = "contact";

async function setUp() {
  await chrome.alarms.create(ALARM, { periodInMinutes: 1 });
  chrome.contextMenus.removeAll(() =>
    chrome.contextMenus.create({
      id: MENU,
      title: "Remember this in Loci",
      contexts: ["selection"],
      documentUrlPatterns: Object.keys(SITES).map(pattern),
    }),
  );
  await register();
  await showBadge();
}

chrome.runtime.onInstalled.addListener(setUp);
chrome.runtime.onStartup.addListener(setUp);
chrome.runtime.onMessage.addListener(receive);
chrome.alarms.onAlarm.addListener((alarm) => {
  if (alarm.name === ALARM) contact();
});
chrome.contextMenus.onClicked.addListener((clicked, tab) => {
  if (clicked.menuItemId === MENU) rememberSelection(tab, clicked.selectionText ?? "");
});
chrome.commands.onCommand.addListener((command, tab) => {
  if (command === "open-search") showPanel(tab);
});
