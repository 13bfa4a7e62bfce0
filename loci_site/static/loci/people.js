// Keyboard shortcuts of the workspace. Without this file every page still works with links and forms.
"use strict";
(() => {
    const lines = () => [...document.querySelectorAll("a.line")];
    const keys = document.getElementById("keys");
    const isTyping = (at) => at.closest("input, textarea, select, [contenteditable]") !== null;

    function step(by) {
        const all = lines();
        if (!all.length) return;
        const at = all.indexOf(document.activeElement);
        const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1);
        all[next].focus();
        all[next].scrollIntoView({ block: "nearest" });
    }

    function follow(key) {
        const link = document.querySelector(`a[data-key="${key}"]`);
        if (link) link.click();
    }

    function search() {
        const field = document.getElementById("q");
        if (!field) { document.querySelector(".bar nav a").click(); return; }
        field.focus();
        field.select();
    }

    const does = {
        "/": search,
        j: () => step(1),
        k: () => step(-1),
        n: () => follow("n"),
        c: () => follow("c"),
        f: () => follow("f"),
        u: () => follow("u"),
        "?": () => keys && keys.showModal(),
    };

    document.addEventListener("keydown", (event) => {
        if (document.documentElement.dataset.shortcuts === "off" && event.key !== "Escape") return;
        if (event.ctrlKey || event.metaKey || event.altKey || (keys && keys.open)) return;
        if (isTyping(event.target)) {
            if (event.key === "Escape") event.target.blur();
            return;
        }
        if (Object.hasOwn(does, event.key)) {
            event.preventDefault();
            does[event.key]();
        }
    });

    // Only events have a date.
    const type = document.getElementById("id_type");
    const day = document.querySelector("[data-field=happened]");
    if (type && day) {
        const show = () => { day.hidden = type.value !== "episodic"; };
        type.addEventListener("change", show);
        show();
    }
    // Send a form once, however often the button is pressed.
    for (const form of document.querySelectorAll("form.form")) {
        form.addEventListener("submit", () => setTimeout(() => {
            for (const button of form.querySelectorAll("[type=submit]")) button.disabled = true;
        }));
    }
    // The admin keeps its theme in the browser: what is saved here counts there too.
    const chosen = document.querySelector("[data-theme-now]");
    if (chosen && document.querySelector(".said.success")) {
        localStorage.setItem("_x_adminTheme", JSON.stringify(chosen.dataset.themeNow || "auto"));
    }
    const hint = document.querySelector("[data-zone-hint]");
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (hint && zone && zone !== (document.getElementById("id_time_zone").value || "UTC")) {
        hint.querySelector("span").textContent = zone;
        hint.hidden = false;
    }
    const opener = document.querySelector("[data-keys]");
    if (opener && keys) opener.addEventListener("click", () => { opener.closest("details").open = false; keys.showModal(); });
    // On touch screens focus would open the keyboard, so focus only with a mouse.
    const first = document.querySelector("[data-first]");
    if (first && matchMedia("(pointer: fine)").matches) first.focus();
})();
