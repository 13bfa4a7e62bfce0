// What every page of the site shares: the theme of the account, and the keys. Without it links and forms still work.
"use strict";
(() => {
    // unfold keeps a theme in each browser. The account's, which is the page's class, counts everywhere.
    const theme = ["light", "dark"].find((name) => document.documentElement.classList.contains(name)) || "auto";
    localStorage.setItem("_x_adminTheme", JSON.stringify(theme));

    const ROWS = "main :is(a.loci-row, #result_list tbody th a, [data-row])";
    const GO_MS = 1500; // "g" was pressed: the next key within this time names an entry, whatever it means on the page
    let going = 0;
    const keys = () => document.getElementById("keys");

    function step(by) {
        const rows = [...document.querySelectorAll(ROWS)];
        if (!rows.length) return false;
        const at = rows.indexOf(document.activeElement);
        const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1)];
        next.focus();
        next.scrollIntoView({ block: "nearest" });
        return true;
    }

    function search() {
        const field = document.querySelector("main :is(#q, #searchbar, input[type=search])");
        if (!field) document.querySelector("[data-palette-open]")?.click();
        else { field.focus(); field.select(); }
        return true;
    }

    function follow(key) {
        const link = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
        link?.click();
        return Boolean(link);
    }

    const DOES = {
        "/": search,
        j: () => step(1),
        k: () => step(-1),
        g: () => { going = Date.now(); return true; },
        "?": () => { keys().showModal(); return true; },
    };

    const isTyping = (at) => at.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
    const isOurs = (event) => keys() && !("off" in keys().dataset) && !event.ctrlKey && !event.metaKey && !event.altKey && !event.defaultPrevented && !document.querySelector("dialog[open]");

    // Before the page's own keys: "g a" leads to an entry, and approves nothing in the Review.
    window.addEventListener("keydown", (event) => {
        if (Date.now() - going > GO_MS || event.key === "Shift") return;
        going = 0;
        event.preventDefault();
        event.stopPropagation();
        const entry = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
        if (entry) window.location.assign(entry.dataset.url);
    }, true);
    // After the page's own keys, which prevent the default.
    window.addEventListener("keydown", (event) => {
        if (isTyping(event.target)) {
            if (event.key === "Escape") event.target.blur();
        } else if (isOurs(event) && (Object.hasOwn(DOES, event.key) ? DOES[event.key]() : event.key.length === 1 && follow(event.key))) event.preventDefault();
    });

    document.addEventListener("click", (event) => { if (event.target.closest("[data-keys]")) keys().showModal(); });
    // Send a form once, however often its button is pressed.
    document.addEventListener("submit", (event) => setTimeout(() => {
        if (event.defaultPrevented || !event.target.matches("form[data-once]")) return;
        for (const button of event.target.querySelectorAll("[type=submit]")) button.disabled = true;
    }));
})();
