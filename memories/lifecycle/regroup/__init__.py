"""Which group memories belong to, and whether other groups see them.

`move.py` moves one memory or many, as `plan.py` says. `narrow.py` changes the scope of a group's memories, and
`left_behind.py` purges what moved memories left.
"""
