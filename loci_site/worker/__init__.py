"""Background processes of `loci up`: the worker (`jobs.py`), and the reader of watched folders (`files.py`)."""
