// Parts of the background that need no browser: which turn is which, waiting times, search in copies, addresses.
import assert from "node:assert/strict";
import test from "node:test";

import { delayMs } from "../../extension/background/delays.js";
import { excerptOf, searchCopies } from "../../extension/background/local_search.js";
import { beginSame, findRow, keptName, onlyOnPage } from "../../extension/background/matching.js";
import { Refusal, cleanServer } from "../../extension/background/server.js";

const row = (turn, parent, role, text, more = {}) => ({ turn, ids: [turn], parent, role, text, page: false, ...more });

test("an edited question and an answer asked for again keep their names", () => {
  const rows = [row("u1", "", "user", "Which host?"), row("a1", "u1", "assistant", "Brass")];
  const edit = { id: "u2", parent: "", role: "user", text: "Which host now?" };
  assert.equal(findRow(rows, edit).turn, "u1");
  rows[0].ids.push("u2");
  assert.equal(keptName(rows, "u2"), "u1");
  assert.equal(findRow(rows, { id: "a2", parent: "u2", role: "assistant", text: "Tin" }).turn, "a1");
});

test("a turn after one that is not known is nobody's new wording", () => {
  const rows = [row("u9", null, "user", "Later question")];
  assert.equal(findRow(rows, { id: "u1", parent: "", role: "user", text: "First question" }), null);
  assert.equal(findRow(rows, { id: "u1", parent: null, role: "user", text: "First question" }), null);
});

test("a turn that was read from the page is known again in the traffic", () => {
  const rows = [row("page-0", null, "user", "Which host should the mail server move to?", { page: true })];
  const turn = { id: "u1", parent: "", role: "user", text: "**Which host** should the mail server move to?" };
  assert.equal(findRow(rows, turn).turn, "page-0");
});

test("texts that begin the same are the same turn; short ones only if they are equal", () => {
  assert.ok(beginSame("# Plan\n\nMove the **mail** server", "Plan Move the mail server"));
  assert.ok(!beginSame("Yes", "Yes, but later"));
  assert.ok(beginSame("Yes!", "yes"));
});

test("of a page only what the traffic did not bring is taken, each once", () => {
  const rows = [row("u1", "", "user", "go on"), row("a1", "u1", "assistant", "The mail server moves to brass.")];
  const seen = [
    { id: "", role: "user", text: "go on" },
    { id: "a1", role: "assistant", text: "another rendering" },
    { id: "", role: "user", text: "go on" },
  ];
  assert.deepEqual(onlyOnPage(rows, seen).map((turn) => turn.id), ["page-2"]);
});

test("waiting doubles from a minute to an hour, and the server may name a longer time", () => {
  assert.deepEqual([1, 2, 3, 6, 7, 20].map((n) => delayMs(n) / 60_000), [1, 2, 4, 32, 60, 60]);
  assert.equal(delayMs(1, 7_200_000), 7_200_000);
});

test("copies are found by beginnings of words, without accents; the title counts more", () => {
  const copy = (seq, title, text, platform = "claude.ai") => ({ seq, title, text, platform, conversation: "c", turn: `t${seq}`, at: "2026-03-01T10:00:00Z" });
  const rows = [copy(3, "Holidays", "Who moves the server?"), copy(2, "Mail server", "Brass has the room."), copy(1, "Café", "Entrée at noon", "chatgpt.com")];
  const found = searchCopies(rows, "serv");
  assert.deepEqual(found.map((item) => item.id), ["t2", "t3"]);
  assert.deepEqual(searchCopies(rows, "entree").map((item) => item.platform), ["chatgpt.com"]);
  assert.deepEqual(searchCopies(rows, "entree", { platform: "claude.ai" }), []);
  assert.deepEqual(searchCopies(rows, "  "), []);
  assert.equal(found[1].date, "2026-03-01");
  assert.equal(found[1].url, "https://claude.ai/chat/c");
});

test("marks count characters, as the server's do", () => {
  const { excerpt, marks } = excerptOf("😀 the mail server", ["mail"]);
  const [[start, end]] = marks;
  assert.equal(Array.from(excerpt).slice(start, end).join(""), "mail");
});

test("a server is this machine's or behind https", () => {
  assert.equal(cleanServer(" http://127.0.0.1:8000/app/ "), "http://127.0.0.1:8000");
  assert.equal(cleanServer("https://loci.example"), "https://loci.example");
  for (const bad of ["", "loci", "http://loci.example", "ftp://127.0.0.1", "https://ann:pw@loci.example"]) assert.throws(() => cleanServer(bad));
});

test("only Loci's own words end the pairing", () => {
  assert.ok(new Refusal(401, { code: "not_authenticated", message: "Revoked." }).isRevoked);
  assert.ok(!new Refusal(401, null).isRevoked);
  assert.ok(!new Refusal(403, { code: "not_permitted", message: "No." }).isRevoked);
});
