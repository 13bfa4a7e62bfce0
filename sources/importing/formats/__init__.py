"""The formats that Loci imports, one module each; `sources.importing.IMPORTERS` lists them."""
