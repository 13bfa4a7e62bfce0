// "?" opens the help for the page of the admin. In the Review it lists that page's keys, as its own script says.
"use strict";
document.addEventListener("keydown", (event) => {
    if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.target.closest("input, textarea, select, [contenteditable], dialog") || location.pathname.startsWith("/admin/review/")) return;
    const link = document.querySelector("a[data-help]");
    if (link) { event.preventDefault(); link.click(); }
});
