// Beside the page: passes on what the tap copies, reads the page itself when it has come to rest, and opens the panel.
// The extension's background decides what is kept; a page is told nothing.
(() => {
  if (globalThis.lociRuns) return;
  globalThis.lociRuns = true;

  const SETTLE_MS = 1500;
  const LONGEST_WAIT_MS = 20_000; // for pages where something always moves
  const platform = location.hostname;
  const { lociPage: page, lociFrame: frame } = globalThis;
  let settings = { on: false, shortcut: true };
  let timer = 0;
  let movedSince = 0;
  let observer = null;

  /** Send to the background; null if this script is older than the extension. */
  async function send(message) {
    try {
      return await chrome.runtime.sendMessage(message);
    } catch {
      stop();
      return null;
    }
  }

  function stop() {
    observer?.disconnect();
    observer = null;
    clearTimeout(timer);
    document.dispatchEvent(new CustomEvent("loci-switch", { detail: "off" }));
  }

  function start() {
    if (observer) return;
    document.dispatchEvent(new CustomEvent("loci-switch", { detail: "on" }));
    observer = new MutationObserver(waitForRest);
    observer.observe(document, { childList: true, subtree: true, characterData: true });
    waitForRest();
  }

  function waitForRest() {
    movedSince ||= Date.now();
    clearTimeout(timer);
    timer = setTimeout(readPage, Date.now() - movedSince > LONGEST_WAIT_MS ? 0 : SETTLE_MS);
  }

  /** Send what the page shows, unless an answer is being written or the conversation is a temporary one. */
  function readPage() {
    movedSince = 0;
    const id = page.openId();
    if (!id || page.isTemporary()) return;
    if (page.isBusy()) {
      waitForRest();
      return;
    }
    const turns = page.readTurns();
    if (turns.length) send({ kind: "page", id, title: document.title, listed: page.isListed(), turns });
  }

  document.addEventListener("loci-traffic", (event) => {
    if (!observer || typeof event.detail !== "string" || page.isTemporary()) return;
    send({ kind: "traffic", traffic: event.detail, title: document.title });
  });

  async function openPanel() {
    const answer = await send({ kind: "open-panel", selection: String(getSelection()).slice(0, 20_000) });
    if (answer?.value) frame.show(answer.value.address);
  }

  window.addEventListener(
    "keydown",
    (event) => {
      const isShortcut = (event.ctrlKey !== event.metaKey) && !event.altKey && !event.shiftKey && event.code === "KeyK";
      if (!event.isTrusted || !settings.on || !settings.shortcut || !isShortcut) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      if (frame.isOpen()) frame.close();
      else openPanel();
    },
    true,
  );

  chrome.runtime.onMessage.addListener((message, sender, reply) => {
    if (sender.id !== chrome.runtime.id) return;
    if (message.kind === "close-panel") frame.close();
    if (message.kind === "show-panel") openPanel();
    if (message.kind === "notice") frame.notice(message.text);
    if (message.kind === "selection") reply(String(getSelection()).slice(0, 20_000));
  });

  async function follow() {
    const stored = await chrome.storage.local.get(["sites", "paused", "shortcut"]);
    const isOn = stored.sites?.[platform] === true;
    settings = { on: isOn, shortcut: stored.shortcut !== false };
    if (isOn && !stored.paused) start();
    else stop();
  }

  chrome.storage.onChanged.addListener((changed) => {
    if (changed.sites || changed.paused || changed.shortcut) follow();
  });
  follow();
})();
