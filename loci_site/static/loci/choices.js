// A field above the choices of a long form, that shows the chosen ones and those that match what is typed.
"use strict";
(() => {
    const FEW = 8;
    const t = window.lociText;
    function narrow(choices, place) {
        if (choices.length <= FEW) return;
        const field = Object.assign(document.createElement("input"), { type: "search", className: "loci-search", placeholder: t("Search groups") });
        field.setAttribute("aria-label", field.placeholder);
        const show = () => {
            const words = field.value.trim().toLowerCase();
            for (const each of choices) {
                const isChosen = each.querySelector("input:checked") || each.querySelector("select")?.value;
                each.hidden = !isChosen && !(words && each.textContent.toLowerCase().includes(words));
            }
        };
        field.addEventListener("input", show);
        place.before(field);
        show();
    }
    const roles = [...document.querySelectorAll("[class*='loci-field-role-']")];
    if (roles.length) narrow(roles, roles[0]);
    for (const list of document.querySelectorAll(".loci-field-groups")) {
        const choices = [...list.querySelectorAll("label:has(input[type=checkbox])")].map((label) => label.closest("li") || label);
        if (choices.length) narrow(choices, choices[0]);
    }
})();
