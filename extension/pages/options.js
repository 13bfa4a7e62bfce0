import { ask, counted } from "./shared.js";
import { showSites } from "./sites.js";

const at = (id) => document.getElementById(id);

function say(text, isBad = false) {
  at("said").textContent = text;
  at("said").classList.toggle("bad", isBad);
}

async function show() {
  const status = await ask("status");
  at("paired").hidden = !status.isPaired;
  at("pair").hidden = status.isPaired;
  at("user").textContent = status.user;
  at("server-link").textContent = status.server;
  if (status.isPaired) at("server-link").href = `${status.server}/admin/account/`;
  at("waiting").textContent = waitingText(status);
  at("paused").checked = status.paused;
  at("shortcut").checked = status.shortcut;
  if (status.problem) say(status.problem, true);
  showSites(at("sites"), status.sites, (error) => {
    say(error ? error.message : "Saved. Reload pages of the site that are open.", error !== null);
    show();
  });
}

function waitingText({ numbers, contact }) {
  const parts = [`${counted(numbers.waiting, "turn")} wait${numbers.waiting === 1 ? "s" : ""} to be sent`, `${counted(numbers.copies, "copy").replace("copys", "copies")} here for search without the server`];
  if (numbers.isFull) parts.push("no room for more until Loci is reachable");
  if (contact.last) parts.push(`last contact ${new Date(contact.last).toLocaleString()}`);
  if (contact.failures) parts.push(`next try ${new Date(contact.nextTry).toLocaleTimeString()}`);
  return `${parts.join(" · ")}.`;
}

at("pair").addEventListener("submit", async (event) => {
  event.preventDefault();
  const server = at("address").value.trim();
  try {
    const host = new URL(server);
    const origins = [`${host.protocol}//${host.hostname}/*`];
    if (!(await chrome.permissions.request({ origins }).catch(() => false))) throw new Error("Enter the address of your Loci: http://127.0.0.1:8000, or one that begins with https://, and allow it.");
    const user = await ask("pair", { server, code: at("code").value, name: at("name").value });
    at("code").value = "";
    say(`Paired as ${user}. Now switch on the sites to be kept.`);
  } catch (error) {
    say(error.message, true);
  }
  show();
});

at("unpair").addEventListener("click", async () => {
  await ask("unpair");
  say("Disconnected; this browser’s copies are deleted. Revoke its token in My account, too.");
  show();
});
at("send").addEventListener("click", async () => {
  await ask("send-now");
  const { contact } = await ask("status");
  say(contact.failures ? "Loci is not reachable." : "Sent.", contact.failures > 0);
  show();
});
at("paused").addEventListener("change", () => ask("pause", { isPaused: at("paused").checked }));
at("shortcut").addEventListener("change", () => ask("shortcut", { isOn: at("shortcut").checked }));
at("name").value = `${navigator.userAgent.includes("Firefox") ? "Firefox" : "Chrome"} on ${navigator.platform || "this computer"}`;
show();
