/* The search palette: live search over everything the user may see, with Ctrl-K or ⌘K on every page.

   Keyword search runs at once, semantic search when typing pauses. Pages, groups and people are read once and matched
   here. Answers to an outdated query are ignored. */

(() => {
  const WORDS_MS = 60; // after the last letter
  const MEANING_MS = 350;
  const LEAST = 2; // letters
  const { HOW, marked } = window.lociMatches;
  const t = window.lociText;

  function start() {
    const dialog = document.getElementById("palette");
    if (!dialog) return;
    const input = dialog.querySelector("#palette-input");
    const list = dialog.querySelector("#palette-list");
    const note = dialog.querySelector("#palette-note");
    let places = [], people = [], isRead = false; // when the palette first opens
    let chosen = -1;
    let timers = [];
    let latest = 0;
    let before = null;

    function open() {
      if (dialog.open) return;
      before = document.activeElement;
      dialog.showModal();
      input.select();
      typed();
      readPlaces();
    }

    async function readPlaces() {
      if (isRead) return;
      isRead = true;
      try {
        const response = await fetch(dialog.dataset.places, { headers: { Accept: "application/json" } });
        ({ places, people } = await response.json());
      } catch { isRead = false; return; }
      show(latest, found, input.value.trim());
    }

    function close() {
      dialog.close();
    }

    function typed() {
      timers.forEach(clearTimeout);
      latest += 1;
      const mine = latest;
      const text = input.value.trim();
      if (text.length < LEAST) {
        show(mine, [], text);
        return;
      }
      timers = [
        setTimeout(() => ask(mine, text, false), WORDS_MS),
        setTimeout(() => ask(mine, text, true), MEANING_MS),
      ];
    }

    let found = [], titled = [];
    async function ask(mine, text, byMeaning) {
      // A trailing space marks the last word as complete, so the text is not trimmed.
      const query = new URLSearchParams({ q: input.value, by_meaning: byMeaning });
      let items = [], threads = [];
      try {
        const response = await fetch(`${dialog.dataset.suggest}?${query}`, { headers: { Accept: "application/json" } });
        if (!response.ok) {
          const fault = await response.json().catch(() => ({}));
          if (mine === latest) note.textContent = fault.message || t("The search failed ({status}).", { status: response.status });
          return;
        }
        ({ items, threads } = await response.json());
      } catch {
        if (mine === latest) note.textContent = t("Cannot reach the server.");
        return;
      }
      if (mine !== latest) return;
      const known = byMeaning ? found : [];
      const ids = new Set(known.map((item) => item.id));
      if (!byMeaning) titled = threads;
      found = [...known, ...items.filter((item) => !ids.has(item.id))];
      show(mine, found, text, byMeaning);
    }

    function show(mine, items, text, isComplete = false) {
      if (mine !== latest) return;
      if (text.length < LEAST) titled = [];
      if (!items.length) found = [];
      const wanted = text.toLowerCase();
      const fitting = wanted ? [...places, ...people].filter((place) => place.title.toLowerCase().includes(wanted)).slice(0, 6) : places;
      const keep = chosen >= 0 && list.children[chosen] ? list.children[chosen].dataset.href : "";
      list.replaceChildren(...items.map(memoryOption), ...titled.map(threadOption), ...fitting.map(placeOption), ...(wanted.length >= LEAST ? [askOption(text)] : []));
      [...list.children].forEach((option, at) => { option.id = `palette-option-${at}`; });
      input.setAttribute("aria-expanded", String(list.children.length > 0));
      const again = [...list.children].findIndex((option) => option.dataset.href === keep);
      choose(again >= 0 ? again : 0);
      note.textContent = wanted.length >= LEAST && (items.length || (isComplete && !titled.length)) ? t(items.length === 1 ? "1 memory found" : "{count} memories found", { count: items.length }) : "";
    }

    function memoryOption(item) {
      const href = `${dialog.dataset.memory}${item.id}/change/`;
      const details = [item.group, item.thread || item.source, item.date, item.state === "live" ? "" : t.word(item.state), HOW[item.how] || ""];
      return option(href, ICONS[item.type] || "neurology", marked(item.text, item.marks), details.filter(Boolean).join(" · "), item.state !== "live");
    }

    function threadOption(thread) {
      return option(dialog.dataset.thread.replace("ID", thread.id), "forum", marked(thread.text, thread.marks), [t("Thread"), thread.group, thread.date].join(" · "));
    }

    function placeOption(place) {
      return option(place.url, place.icon, document.createTextNode(place.title), place.about);
    }

    function askOption(text) {
      const href = `${dialog.dataset.recall}?${new URLSearchParams({ q: text })}`;
      return option(href, "psychology_alt", document.createTextNode(t("Ask: {text}", { text })), t("recall"));
    }

    function option(href, icon, text, details, isFaded = false) {
      const item = element("li", "palette-option", { role: "option", "aria-selected": "false" });
      item.dataset.href = href;
      if (isFaded) item.classList.add("palette-faded");
      const sign = element("span", "material-symbols-outlined", { "aria-hidden": "true" });
      sign.textContent = icon;
      const words = element("span", "palette-text");
      words.append(text);
      const side = element("span", "palette-side");
      side.textContent = details;
      item.append(sign, words, side);
      item.addEventListener("click", (event) => go(href, event));
      item.addEventListener("pointermove", () => choose([...list.children].indexOf(item)));
      return item;
    }

    function choose(at) {
      chosen = Math.max(-1, Math.min(at, list.children.length - 1));
      [...list.children].forEach((item, place) => item.setAttribute("aria-selected", String(place === chosen)));
      const item = list.children[chosen];
      if (item) {
        input.setAttribute("aria-activedescendant", item.id);
        item.scrollIntoView({ block: "nearest" });
      } else input.removeAttribute("aria-activedescendant");
    }

    function go(href, event) {
      if (event && (event.ctrlKey || event.metaKey)) window.open(href, "_blank", "noopener");
      else window.location.assign(href);
    }

    window.addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
        event.preventDefault();
        event.stopPropagation();
        open();
      }
    }, true);
    input.addEventListener("input", typed);
    input.addEventListener("keydown", (event) => {
      const count = list.children.length;
      if (event.key === "ArrowDown" && count) choose((chosen + 1) % count);
      else if (event.key === "ArrowUp" && count) choose((chosen - 1 + count) % count);
      else if (event.key === "Enter" && list.children[chosen]) go(list.children[chosen].dataset.href, event);
      else return;
      event.preventDefault();
    });
    dialog.addEventListener("click", (event) => { if (event.target === dialog) close(); });
    dialog.addEventListener("close", () => { if (before && before.focus) before.focus(); });
    document.querySelectorAll("[data-palette-open]").forEach((button) => {
      button.addEventListener("click", open);
      if (!/Mac|iPhone|iPad/.test(navigator.platform)) button.querySelectorAll("kbd").forEach((key) => { key.textContent = "Ctrl K"; });
    });
  }

  const ICONS = { episodic: "event", semantic: "neurology", procedural: "checklist", entity: "category" };

  function element(name, kind, attributes = {}) {
    const made = document.createElement(name);
    made.className = kind;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
