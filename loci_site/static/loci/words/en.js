// Written by `python -m bench.i18n` from loci_site/locale: the words of the pages' scripts. Do not edit.
"use strict";
(() => {
    const texts = {}, words = {};
    const fill = (text, values) => text.replace(/\{(\w+)\}/g, (all, name) => (Object.hasOwn(values, name) ? values[name] : all));
    window.lociText = (text, values = {}) => fill(texts[text] ?? text, values);
    window.lociText.word = (word) => words[word] ?? word;
})();
