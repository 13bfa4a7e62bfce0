// Search in this browser's own copies, for when the server is away.
import MiniSearch from "../vendor/minisearch.js";
import { SITES } from "../sites/index.js";

const EXCERPT_CHARS = 160;
const BEFORE_CHARS = 40;

/** Words of a text without accents and case. */
export function words(text) {
  return text.normalize("NFKD").replace(/\p{M}+/gu, "").toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** The copies that fit a question, best first, as the server would answer them. */
export function searchCopies(rows, query, { platform = "", limit = 10 } = {}) {
  const asked = words(query);
  if (!asked.length) return [];
  const chosen = platform ? rows.filter((row) => row.platform === platform) : rows;
  const found = MiniSearch ? byIndex(MiniSearch, chosen, query) : byWords(chosen, asked);
  return found.slice(0, limit).map((row) => itemOf(row, asked));
}

/** Rows with all asked words at the beginning of a word; the title counts double, newer ones come first. */
function byWords(rows, asked) {
  const scored = rows.map((row, age) => {
    const [title, text] = [words(row.title), words(row.text)];
    let score = 0;
    for (const word of asked) {
      const inTitle = title.some((each) => each.startsWith(word));
      const inText = text.some((each) => each.startsWith(word));
      if (!inTitle && !inText) return { row, score: 0 };
      score += (inTitle ? 2 : 0) + (inText ? 1 : 0) + (text.includes(word) ? 1 : 0);
    }
    return { row, score: score + 1 / (1 + age) };
  });
  return scored.filter((each) => each.score > 0).sort((a, b) => b.score - a.score).map((each) => each.row);
}

let index = null;

function byIndex(Index, rows, query) {
  const newest = rows[0]?.seq ?? 0;
  const stamp = `${rows.length}/${newest}/${rows.at(-1)?.seq}`;
  if (index?.stamp !== stamp) {
    const mini = new Index({ fields: ["title", "text"], idField: "seq", processTerm: (term) => words(term).join("") || null });
    mini.addAll(rows);
    index = { stamp, mini, bySeq: new Map(rows.map((row) => [row.seq, row])) };
  }
  const options = {
    prefix: true,
    fuzzy: (term) => (term.length > 3 ? 0.2 : false),
    combineWith: "AND",
    boost: { title: 2 },
    boostDocument: (seq) => 1 + 0.2 * (seq / Math.max(newest, 1)),
  };
  return index.mini.search(query, options).map((hit) => index.bySeq.get(hit.id));
}

function itemOf(row, asked) {
  const { excerpt, marks } = excerptOf(row.text.replace(/\s+/g, " "), asked);
  return {
    kind: "turn",
    id: row.turn,
    title: row.title,
    platform: row.platform,
    url: SITES[row.platform]?.address(row.conversation) ?? "",
    date: (row.at ?? "").slice(0, 10),
    group: "",
    excerpt,
    marks,
    how: "words",
    isLocal: true,
  };
}

/** A part of a text around the first asked word, and the ranges of its characters that were asked for. */
export function excerptOf(text, asked) {
  const parts = [...text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)];
  const isAsked = (part) => asked.some((word) => words(part)[0]?.startsWith(word));
  const first = parts.find((part) => isAsked(part[0]))?.index ?? 0;
  const start = first > BEFORE_CHARS ? text.indexOf(" ", first - BEFORE_CHARS) + 1 : 0;
  const excerpt = text.slice(start, start + EXCERPT_CHARS);
  const marks = [...excerpt.matchAll(/[\p{L}\p{N}\p{M}]+/gu)]
    .filter((part) => isAsked(part[0]))
    .map((part) => {
      // The server counts characters, not the halves of which some are made here.
      const before = Array.from(excerpt.slice(0, part.index)).length;
      return [before, before + Array.from(part[0]).length];
    });
  return { excerpt, marks };
}
