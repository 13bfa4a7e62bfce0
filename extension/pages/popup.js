import { ask, counted, pinnedTab } from "./shared.js";
import { showSites } from "./sites.js";

const at = (id) => document.getElementById(id);
const tabId = pinnedTab();
let place = null;

async function show() {
  const status = await ask("status", { tabId });
  place = status.place;
  at("problem").hidden = !status.problem;
  at("problem").textContent = status.problem;
  const waiting = status.numbers.waiting ? `, ${counted(status.numbers.waiting, "turn")} waiting` : "";
  at("state").textContent = status.isPaired ? `Paired as ${status.user}${waiting}.` : "Not paired: open the settings.";
  at("paused").checked = status.paused;
  at("here").hidden = !place;
  at("skipped").checked = place?.isSkipped === true;
  showSites(at("sites"), status.sites, (error) => {
    at("said").textContent = error ? error.message : "";
    show();
  });
}

at("skipped").addEventListener("change", async () => {
  await ask("skip", { ...place, isSkipped: at("skipped").checked });
  at("said").textContent = at("skipped").checked
    ? "Nothing more of it is kept, and its copies here are deleted. What Loci has is deleted in Loci."
    : "It is kept from now on.";
});
at("paused").addEventListener("change", () => ask("pause", { isPaused: at("paused").checked }));
at("remember").addEventListener("click", async () => {
  at("said").textContent = await ask("remember-selection", { tabId });
});
at("settings").addEventListener("click", () => chrome.runtime.openOptionsPage());
at("side").addEventListener("click", async () => {
  // Both want a click, and nothing awaited before.
  if (chrome.sidebarAction) await chrome.sidebarAction.open();
  else await chrome.sidePanel.open({ windowId: windowId });
  window.close();
});

let windowId = 0;
chrome.windows.getCurrent().then((found) => {
  windowId = found.id;
});
show();
