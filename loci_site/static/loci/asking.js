/* Asking the server from a page: same origin, the page's own CSRF token, and a refusal as an Error with its words. */

export class Refusal extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/* Give a part of a page as a DocumentFragment. */
export async function askPart(url, { signal } = {}) {
  const answer = await reach(url, { signal });
  const template = document.createElement("template");
  template.innerHTML = await answer.text(); // our own server's template, in which every text is escaped
  return template.content;
}

/* Give JSON. */
export async function askJson(url, { signal } = {}) {
  const answer = await reach(url, { signal });
  return answer.json();
}

/* Post fields (a list gives a field several times) and give the JSON that answers. */
export async function send(url, fields) {
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const each of Array.isArray(value) ? value : [value]) body.append(name, each ?? "");
  }
  const token = document.querySelector("[name=csrfmiddlewaretoken]");
  const answer = await reach(url, { method: "POST", body, headers: { "X-CSRFToken": token ? token.value : "" } });
  return answer.json();
}

async function reach(url, options) {
  let answer;
  try {
    answer = await fetch(url, { credentials: "same-origin", ...options });
  } catch (fault) {
    if (fault.name === "AbortError") throw fault;
    throw new Refusal("The server does not answer. Is it running?", 0);
  }
  if (answer.redirected && new URL(answer.url).pathname.includes("/login")) {
    throw new Refusal("You are logged out. Log in again in another tab.", 401);
  }
  if (answer.ok) return answer;
  throw new Refusal(await words(answer), answer.status);
}

async function words(answer) {
  if ((answer.headers.get("Content-Type") || "").includes("json")) {
    const told = await answer.json();
    const failed = told.failed && told.failed.length ? told.failed.join(" ") : "";
    return [told.message || failed, told.hint].filter(Boolean).join(" ") || `The server answered ${answer.status}.`;
  }
  if (answer.status === 404) return "That is not there any more.";
  if (answer.status === 403) return "You may not do this.";
  return `The server answered ${answer.status}.`;
}
