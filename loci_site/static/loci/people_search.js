// Matches while a person types in the workspace, in all groups that the person may read. Enter still asks the question.
"use strict";
(() => {
    const PAUSE_MS = 60, MEANING_MS = 350, LEAST = 2;
    const { HOW, marked } = window.lociMatches, t = window.lociText;
    const field = document.getElementById("q");
    const box = document.getElementById("typed");
    if (!field || !box) return;
    const list = box.querySelector("ol"), note = box.querySelector("[role=status]");
    const asked = field.value;
    let timers = [], latest = 0;

    // Matches by meaning come while somebody walks through those by words, who must not be thrown back to the page.
    function show(items, text) {
        const held = list.contains(document.activeElement) ? document.activeElement.href : "";
        list.replaceChildren(...items.map(line));
        [...list.querySelectorAll("a")].find((link) => link.href === held)?.focus();
        note.textContent = items.length ? t(items.length === 1 ? "1 match in all your groups. Press Enter to ask." : "{count} matches in all your groups. Press Enter to ask.", { count: items.length }) : t("Nothing begins with “{text}”. Press Enter to ask.", { text });
        box.hidden = false;
    }

    // Emptied as well: the keys that walk through lines must not meet hidden ones.
    function hide() {
        box.hidden = true;
        list.replaceChildren();
    }

    async function ask(mine, text, byMeaning, known) {
        const query = new URLSearchParams({ q: field.value, by_meaning: byMeaning });
        try {
            const response = await fetch(`${box.dataset.suggest}?${query}`, { headers: { Accept: "application/json" } });
            const body = await response.json();
            if (mine !== latest) return known;
            if (!response.ok) { note.textContent = body.message; box.hidden = false; return known; }
            const ids = new Set();
            const found = [...known, ...body.items, ...body.threads].filter((item) => !ids.has(item.id) && ids.add(item.id));
            show(found, text);
            return found;
        } catch {
            if (mine === latest) { note.textContent = t("Cannot reach the server."); box.hidden = false; }
            return known;
        }
    }

    function typed() {
        timers.forEach(clearTimeout);
        latest += 1;
        const mine = latest, text = field.value.trim();
        if (text.length < LEAST || field.value === asked) { hide(); return; }
        let words = Promise.resolve([]);
        timers = [
            setTimeout(() => { words = ask(mine, text, false, []); }, PAUSE_MS),
            setTimeout(async () => { const known = await words; if (mine === latest) ask(mine, text, true, known); }, MEANING_MS),
        ];
    }

    function line(item) {
        const link = part("a", "line");
        link.href = (item.type ? box.dataset.memory : box.dataset.thread).replace("ID", item.id); // a thread has no type
        const text = part("span", "text"), about = part("span", "about");
        text.append(marked(item.text, item.marks));
        const details = !item.type ? [t("Thread"), item.group, item.date] : [item.state === "live" ? "" : t.word(item.state), item.trust === "active" ? "" : t.word(item.trust), t.word(item.type), item.group, item.thread || item.source, item.date, HOW[item.how]];
        about.append(...details.filter(Boolean).map((detail) => Object.assign(part("span", ""), { textContent: detail })));
        link.append(text, about);
        const entry = document.createElement("li");
        entry.append(link);
        return entry;
    }

    function part(name, kind) {
        const made = document.createElement(name);
        if (kind) made.className = kind;
        return made;
    }

    field.addEventListener("input", typed);
    field.addEventListener("keydown", (event) => {
        const first = list.querySelector("a");
        if (event.key === "ArrowDown" && !box.hidden && first) { event.preventDefault(); first.focus(); }
        if (event.key === "Escape") hide();
    });
})();
