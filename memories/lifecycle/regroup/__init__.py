"""Which group memories belong to, and whether other groups see them.

`moving.py` moves one memory, `part.py` many; both plan with `plan.py` and write with `carry_out.py`. `narrow.py` changes
the scope of a group's memories.
"""
