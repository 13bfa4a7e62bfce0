"""The referee of changes: random histories of every verb and every undo, judged by one oracle.

`histories` makes, runs, minimises and prints them; `world` carries a step out with the product's own functions; `rows` reads
the tables; `oracle` has the promises, one function each.
"""
