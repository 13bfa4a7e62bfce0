// In the page's own world: copies what the page asks and gets of its conversations. It makes no request, changes none, and
// reads no cookie or header. What it copies goes to content.js of this extension as an event of the document.
(() => {
  if (window[Symbol.for("loci-tap")]) return;
  Object.defineProperty(window, Symbol.for("loci-tap"), { value: true });

  const MAX_CHARS = 20_000_000;
  const MAX_HELD = 20;
  const ID = "[^/?]+";
  // Method and address of what holds turns.
  const ENDPOINTS = {
    "claude.ai": [
      ["GET", new RegExp(`^/api/organizations/${ID}/chat_conversations/${ID}$`)],
      ["POST", new RegExp(`^/api/organizations/${ID}/chat_conversations$`)],
      ["POST", new RegExp(`^/api/organizations/${ID}/chat_conversations/${ID}/(retry_)?completion$`)],
    ],
    "chatgpt.com": [
      ["GET", new RegExp(`^/backend-api/conversation/[0-9a-f-]{20,}$`)],
      ["POST", new RegExp("^/backend-api/(f/)?conversation$")],
    ],
  }[location.hostname] ?? [];

  let isOn = null; // null: content.js has not spoken yet
  const held = [];
  document.addEventListener("loci-switch", (event) => {
    isOn = event.detail === "on";
    for (const detail of held.splice(0)) if (isOn) dispatch(detail);
  });

  function dispatch(detail) {
    document.dispatchEvent(new CustomEvent("loci-traffic", { detail }));
  }

  function pass(found) {
    const detail = JSON.stringify(found);
    if (isOn) dispatch(detail);
    else if (isOn === null && held.length < MAX_HELD) held.push(detail);
  }

  function isWanted(method, url) {
    if (isOn === false || url.origin !== location.origin) return false;
    return ENDPOINTS.some(([verb, path]) => verb === method && path.test(url.pathname));
  }

  /** The whole text of a body, and whether it ended rather than broke off. */
  async function readBody(response) {
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let text = "";
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return { text: text + decoder.decode(), done: true };
        text += decoder.decode(value, { stream: true });
        if (text.length > MAX_CHARS) return { text: "", done: false };
      }
    } catch {
      return { text, done: false };
    }
  }

  async function copy(url, sent, response) {
    const at = new Date().toISOString();
    if (!response.ok || !response.body) return;
    const body = await readBody(response.clone());
    pass({ url: url.href, sent: await sent, at, ...body });
  }

  const original = window.fetch;
  /** The request's own body as text; "" for what is no text. */
  function sentText(input, init) {
    if (typeof init?.body === "string") return init.body;
    if (init?.body == null && input instanceof Request && input.method !== "GET") return input.clone().text().catch(() => "");
    return "";
  }

  const tapped = {
    fetch(input, init) {
      let look = null;
      try {
        const request = input instanceof Request ? input : null;
        const url = new URL(request?.url ?? String(input), location.href);
        const method = (init?.method ?? request?.method ?? "GET").toUpperCase();
        if (isWanted(method, url)) {
          const sent = sentText(input, init); // before the request uses its body up
          look = (response) => copy(url, sent, response);
        }
      } catch {
        look = null;
      }
      const answer = Reflect.apply(original, this, arguments);
      if (look) answer.then(look).catch(() => {});
      return answer;
    },
  };
  window.fetch = tapped.fetch;

  // An answer that is read with EventSource: the page's own object is listened to.
  const Source = window.EventSource;
  if (Source) {
    window.EventSource = class EventSource extends Source {
      constructor(url, options) {
        super(url, options);
        const full = new URL(url, location.href);
        if (!isWanted("POST", full) && !isWanted("GET", full)) return;
        const lines = [];
        const at = new Date().toISOString();
        this.addEventListener("message", (event) => lines.push(`data: ${event.data}\n\n`));
        this.addEventListener("error", () => pass({ url: full.href, sent: "", at, text: lines.splice(0).join(""), done: true }));
      }
    };
  }
})();
