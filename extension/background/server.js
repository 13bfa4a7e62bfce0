// Calls to the paired server. Everything is a POST: browsers send no Origin with an extension's GET.

/** A server that answered, but not with what was asked for. */
export class Refusal extends Error {
  constructor(status, body, retryAfter) {
    super(body?.message ? [body.message, body.hint].filter(Boolean).join(" ") : `The server answered ${status}.`);
    this.status = status;
    this.code = body?.code ?? "";
    this.retryAfterMs = 1000 * (Number(retryAfter) || 0);
  }

  /** True if the token is not valid any more; another program on the same port would not say so in these words. */
  get isRevoked() {
    return this.status === 401 && this.code === "not_authenticated";
  }

  /** True if what was sent will never be accepted. */
  get isFinal() {
    return this.status === 413 || this.status === 422;
  }
}

/** No answer at all. */
export class Away extends Error {}

/** The JSON answer of POST `path`. Throws Refusal or Away. */
export async function post({ server, token }, path, body, timeoutMs) {
  let answer;
  let content;
  try {
    answer = await fetch(`${server}/api${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) },
      body: JSON.stringify(body),
      credentials: "omit",
      redirect: "error",
      cache: "no-store",
      signal: AbortSignal.timeout(timeoutMs),
    });
    content = await answer.text();
  } catch {
    throw new Away("Loci is not reachable.");
  }
  let value = null;
  try {
    value = JSON.parse(content);
  } catch {
    if (answer.ok) throw new Away("What answers there is not Loci.");
  }
  if (!answer.ok) throw new Refusal(answer.status, value, answer.headers.get("Retry-After"));
  return value;
}

/** The address of a server without its path. Throws an Error with a sentence for the person. */
export function cleanServer(text) {
  const typed = text.trim();
  const url = URL.parse?.(typed) ?? (URL.canParse(typed) ? new URL(typed) : null);
  const isHere = ["127.0.0.1", "localhost"].includes(url?.hostname);
  if (!url || !(url.protocol === "https:" || (url.protocol === "http:" && isHere)) || url.username) {
    throw new Error("Enter the address of your Loci: http://127.0.0.1:8000, or one that begins with https://.");
  }
  return url.origin;
}
