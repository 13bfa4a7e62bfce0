// Buttons that copy what stands beside them, or what `data-copy` holds. They show only where this file runs.
"use strict";
(() => {
    const t = window.lociText;
    const said = (button, text, isDone) => {
        // A button that is an icon changes it; others say what happened.
        if (button.classList.contains("material-symbols-outlined")) text = isDone ? "check" : "error";
        const before = button.dataset.label || (button.dataset.label = button.textContent);
        button.textContent = text;
        setTimeout(() => { button.textContent = before; }, 2000);
    };
    // The clipboard's interface is missing where a page came without https from another machine.
    async function copy(text) {
        if (navigator.clipboard && window.isSecureContext) { await navigator.clipboard.writeText(text); return; }
        const field = document.createElement("textarea");
        field.value = text;
        document.body.append(field);
        field.select();
        document.execCommand("copy");
        field.remove();
    }
    function prepare() {
        for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
    }
    document.addEventListener("click", async (event) => {
        const button = event.target.closest("[data-copy]");
        if (!button) return;
        try {
            await copy(button.dataset.copy || button.previousElementSibling.textContent);
            said(button, t("Copied"), true);
        } catch { said(button, t("Select and copy it by hand"), false); }
    });
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", prepare);
    else prepare();
})();
