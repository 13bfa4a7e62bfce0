// Which stored turn a new one is: the same one, another wording of it, or none.

const PREFIX = 80;
const SHORTEST = 12; // letters; below that only equal texts are the same turn

/** Letters and digits of a text: what a page shows and what its traffic says differ in marks and spaces. */
export function fold(text) {
  return text.normalize("NFKC").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "").slice(0, PREFIX);
}

/** True if two texts begin the same. */
export function beginSame(one, other) {
  const [a, b] = [fold(one), fold(other)];
  if (a === b) return true;
  return Math.min(a.length, b.length) >= SHORTEST && (a.startsWith(b) || b.startsWith(a));
}

/** The name under which a turn is kept whose site's id is `id`; null if it is not known. */
export function keptName(rows, id) {
  if (id === "" || id === null) return id;
  return rows.find((row) => row.ids.includes(id))?.turn ?? id;
}

/**
 * The row of a turn of the traffic: by its id; else one at the same place (an edited question or an answer asked for again has
 * a new id and the same turn before it); else one that was read from the page. null: it is new.
 */
export function findRow(rows, turn) {
  const byId = rows.find((row) => row.ids.includes(turn.id));
  if (byId) return byId;
  const parent = keptName(rows, turn.parent);
  const byPlace = parent !== null && rows.find((row) => row.role === turn.role && row.parent === parent);
  if (byPlace) return byPlace;
  return rows.find((row) => row.page && row.ids.length === 1 && row.role === turn.role && beginSame(row.text ?? "", turn.text)) ?? null;
}

/** The turns of a page that no row of the traffic has, named by their place on the page or their own id. */
export function onlyOnPage(rows, turns) {
  const free = rows.filter((row) => !row.page);
  const left = [];
  turns.forEach((turn, place) => {
    const found = free.findIndex((row) => (turn.id && row.ids.includes(turn.id)) || isSame(row, turn));
    if (found >= 0) free.splice(found, 1);
    else left.push({ ...turn, id: turn.id || `page-${place}`, parent: null, page: true });
  });
  return left;
}

function isSame(row, turn) {
  // A row whose text is gone can only be known by its id.
  return row.role === turn.role && row.text !== undefined && beginSame(row.text, turn.text);
}
