// The number of cards beside "Review" in the sidebar, read after the page and again each minute that it is looked at.
"use strict";
(() => {
    const EVERY_MS = 60_000;
    function start() {
        const links = [...document.querySelectorAll("#nav-sidebar-apps a[href='/admin/review/']")];
        if (!links.length) return;
        async function count() {
            if (document.hidden) return;
            let found;
            try {
                const response = await fetch("/admin/review/count/", { headers: { Accept: "application/json" } });
                if (!response.ok || response.redirected) return;
                found = await response.json();
            } catch { return; }
            for (const link of links) {
                link.querySelector(".loci-count")?.remove();
                if (!found.count) continue;
                const badge = Object.assign(document.createElement("span"), { className: "loci-count", textContent: found.count + (found.more ? "+" : "") });
                link.append(badge, " ");
            }
        }
        count();
        setInterval(count, EVERY_MS);
        document.addEventListener("visibilitychange", count);
    }
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
    else start();
})();
