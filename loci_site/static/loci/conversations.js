// Dragging a conversation onto a group moves it there; the menu on its page does the same.
"use strict";
(() => {
    const targets = document.querySelector("[data-drops]");
    if (!targets) return;
    let dragged = null;
    for (const row of document.querySelectorAll("[data-conversation]")) {
        row.addEventListener("dragstart", (event) => {
            dragged = row;
            event.dataTransfer.effectAllowed = "move";
            event.dataTransfer.setData("text/plain", row.dataset.conversation);
            targets.classList.add("is-open");
        });
        row.addEventListener("dragend", () => {
            dragged = null;
            targets.classList.remove("is-open");
        });
    }
    for (const group of targets.querySelectorAll("[data-drop]")) {
        group.addEventListener("dragover", (event) => {
            if (!dragged) return;
            event.preventDefault();
            group.classList.add("is-over");
        });
        group.addEventListener("dragleave", () => group.classList.remove("is-over"));
        group.addEventListener("drop", (event) => {
            event.preventDefault();
            const form = dragged && dragged.querySelector("[data-move]");
            if (!form) return;
            form.elements.group.value = group.dataset.drop;
            form.submit();
        });
    }
})();
