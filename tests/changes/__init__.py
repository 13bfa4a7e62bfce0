"""The referee of changes: random histories of every verb and every undo, judged by one oracle.

`histories` makes, runs, minimises and prints them; `steps` carries each out with the product's own functions in a `world`;
`rows` reads the tables; `oracle` has the promises and `rules` the smaller rules, one function each; `found` has what they found.
"""
