// Server-sent events of a finished answer.

/** The site's traffic has a form that no parser here knows. */
export class Unreadable extends Error {}

/** Value of a JSON text; throws Unreadable. */
export function readJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Unreadable("not JSON");
  }
}

/** Events of a stream as {event, data}; `data` is text. */
export function* readEvents(text) {
  for (const block of text.replace(/\r\n?/g, "\n").split("\n\n")) {
    let event = "";
    const data = [];
    for (const line of block.split("\n")) {
      if (line.startsWith("event:")) event = line.slice(6).trim();
      else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
    }
    if (data.length) yield { event, data: data.join("\n") };
  }
}

/** The name of a turn as the server accepts it, or "". */
export function cleanId(id) {
  return typeof id === "string" && /^[A-Za-z0-9][A-Za-z0-9._:-]{0,119}$/.test(id) ? id : "";
}

/** A moment as ISO 8601 from seconds or a text; null if it is neither. */
export function moment(value) {
  const date = typeof value === "number" ? new Date(value * 1000) : new Date(typeof value === "string" ? value : NaN);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
