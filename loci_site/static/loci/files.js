// Keeps the theme's listener, which expects a text field next to each file input, from the plain inputs of Loci's forms.
"use strict";
document.addEventListener("change", (event) => {
    if (event.target.matches("input.loci-file")) event.stopPropagation();
}, true);
