/* Choose a memory by words instead of typing its id: every `input[data-pick]` becomes a list of matches. The form still
   sends the id; without this file the field takes one by hand. */
"use strict";
(() => {
  const PAUSE_MS = 120;
  const LEAST = 2; // letters
  const IS_ID = /^[0-9a-f]{8}(-?[0-9a-f]{4,})*$/i;
  const t = window.lociText;
  let made = 0;

  function pick(sent) {
    const suggest = document.getElementById("palette")?.dataset.suggest;
    if (!suggest || sent.dataset.picks) return;
    sent.dataset.picks = "1";
    const typed = sent.cloneNode();
    const list = element("ul", "picker-list", { role: "listbox", id: `picker-${made += 1}`, "aria-label": t("Memories"), hidden: "" });
    const note = element("p", "picker-note", { "aria-live": "polite" });
    for (const name of ["name", "required"]) typed.removeAttribute(name);
    for (const [key, value] of Object.entries({ role: "combobox", autocomplete: "off", spellcheck: "false", maxlength: "200", placeholder: t("Type words of the memory"), "aria-expanded": "false", "aria-controls": list.id, "aria-autocomplete": "list" })) typed.setAttribute(key, value);
    typed.value = "";
    sent.removeAttribute("id");
    sent.type = "hidden";
    const frame = element("div", "picker", {});
    sent.before(frame);
    frame.append(typed, list, note, sent);
    let items = [], chosen = -1, timer = 0, latest = 0;

    async function ask(text, done) {
      const mine = latest += 1;
      try {
        const response = await fetch(`${suggest}?${new URLSearchParams({ q: text, limit: 8 })}`, { headers: { Accept: "application/json" } });
        const found = response.ok ? (await response.json()).items : [];
        if (mine === latest) done(found);
      } catch { note.textContent = t("Cannot reach the server."); }
    }

    function show(found) {
      items = found;
      list.replaceChildren(...found.map(option));
      list.hidden = !found.length;
      typed.setAttribute("aria-expanded", String(!list.hidden));
      note.textContent = found.length ? "" : t("No memory found.");
      choose(found.length ? 0 : -1);
    }

    function option(item, at) {
      const row = element("li", "palette-option", { role: "option", id: `${list.id}-${at}`, "aria-selected": "false" });
      const text = element("span", "palette-text", {});
      text.append(window.lociMatches.marked(item.text, item.marks));
      const side = element("span", "palette-side", {});
      side.textContent = [item.group, item.date, item.state === "live" ? "" : t.word(item.state)].filter(Boolean).join(" · ");
      row.append(text, side);
      row.addEventListener("pointerdown", (event) => { event.preventDefault(); take(at); });
      return row;
    }

    function choose(at) {
      chosen = at;
      [...list.children].forEach((row, place) => row.setAttribute("aria-selected", String(place === at)));
      if (list.children[at]) { typed.setAttribute("aria-activedescendant", list.children[at].id); list.children[at].scrollIntoView({ block: "nearest" }); }
      else typed.removeAttribute("aria-activedescendant");
    }

    function take(at) {
      sent.value = items[at].id;
      typed.value = items[at].text;
      close();
      note.textContent = t("Chosen, from {group}.", { group: items[at].group });
    }

    function close() {
      list.hidden = true;
      typed.setAttribute("aria-expanded", "false");
      typed.removeAttribute("aria-activedescendant");
    }

    typed.addEventListener("input", () => {
      const text = typed.value.trim();
      sent.value = IS_ID.test(text) ? text : "";
      clearTimeout(timer);
      latest += 1;
      note.textContent = "";
      if (text.length < LEAST) close();
      else timer = setTimeout(() => ask(typed.value, show), PAUSE_MS);
    });
    typed.addEventListener("keydown", (event) => {
      if (list.hidden) return;
      if (event.key === "ArrowDown") choose((chosen + 1) % items.length);
      else if (event.key === "ArrowUp") choose((chosen - 1 + items.length) % items.length);
      else if (event.key === "Enter" && chosen >= 0) take(chosen);
      else if (event.key === "Escape") close();
      else return;
      event.preventDefault();
    });
    typed.addEventListener("blur", close);
    // Words without a choice would be sent as nothing: the field says so instead.
    sent.form?.addEventListener("submit", (event) => {
      if (!typed.value.trim() || sent.value) return;
      event.preventDefault();
      note.textContent = t("Choose one of the memories.");
      typed.focus();
    });
    // What is chosen already is shown by its text.
    if (sent.value) {
      typed.value = sent.value;
      ask(sent.value, (found) => { if (found.length === 1 && found[0].how === "id") typed.value = found[0].text; });
    }
  }

  function element(name, kind, attributes) {
    const one = document.createElement(name);
    one.className = kind;
    for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
    return one;
  }

  const start = () => document.querySelectorAll("input[data-pick]").forEach(pick);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
