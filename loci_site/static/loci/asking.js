/* Requests from a page to the server: same origin, with the page's CSRF token. A refusal becomes an Error with the
   server's message. */

const t = window.lociText;

export class Refusal extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/* Fetch a part of a page as a DocumentFragment. */
export async function askPart(url, { signal } = {}) {
  const answer = await request(url, { signal });
  const template = document.createElement("template");
  template.innerHTML = await answer.text(); // our own template, which escapes every text
  return template.content;
}

/* Fetch JSON. */
export async function askJson(url, { signal } = {}) {
  const answer = await request(url, { signal });
  return answer.json();
}

/* Post form fields and return the JSON answer. A list sends its field several times. */
export async function send(url, fields) {
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const each of Array.isArray(value) ? value : [value]) body.append(name, each ?? "");
  }
  const token = document.querySelector("[name=csrfmiddlewaretoken]");
  const answer = await request(url, { method: "POST", body, headers: { "X-CSRFToken": token ? token.value : "" } });
  return answer.json();
}

async function request(url, options) {
  let answer;
  try {
    answer = await fetch(url, { credentials: "same-origin", ...options });
  } catch (fault) {
    if (fault.name === "AbortError") throw fault;
    throw new Refusal(t("Cannot reach the server. Is it running?"), 0);
  }
  if (answer.redirected && new URL(answer.url).pathname.includes("/login")) {
    throw new Refusal(t("You are logged out. Log in again in another tab, then retry."), 401);
  }
  if (answer.ok) return answer;
  throw new Refusal(await refusalText(answer), answer.status);
}

async function refusalText(answer) {
  if ((answer.headers.get("Content-Type") || "").includes("json")) {
    const body = await answer.json();
    const failed = body.failed && body.failed.length ? body.failed.join(" ") : "";
    return [body.message || failed, body.hint].filter(Boolean).join(" ") || t("The server answered {status}.", { status: answer.status });
  }
  if (answer.status === 404) return t("This no longer exists.");
  if (answer.status === 403) return t("You may not do this.");
  return t("The server answered {status}.", { status: answer.status });
}
