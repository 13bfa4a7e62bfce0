"""The catalogues of the browser's pages: `python -m bench.i18n` extracts the texts and compiles the translations.

People edit the .po files in loci_site/locale. The .mo files and the scripts with the same words are written from them and
committed, so that neither a checkout nor the wheel needs a tool to build them.
"""
