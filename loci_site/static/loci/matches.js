// How a match of the search as you type is shown, in the palette and on Ask.
"use strict";
window.lociMatches = {
    HOW: { spelling: window.lociText("similar spelling"), meaning: window.lociText("by meaning"), id: window.lociText("by id") },

    // As nodes, never as markup. The ranges count characters, not the halves of an emoji.
    marked(text, ranges) {
        const letters = [...text], whole = document.createDocumentFragment();
        let at = 0;
        for (const [from, to] of ranges) {
            whole.append(letters.slice(at, from).join(""), Object.assign(document.createElement("mark"), { textContent: letters.slice(from, to).join("") }));
            at = to;
        }
        whole.append(letters.slice(at).join(""));
        return whole;
    },
};
