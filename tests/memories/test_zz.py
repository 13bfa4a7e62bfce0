import pytest
from tests.changes.histories import History, run_history, minimise
pytestmark = [pytest.mark.django_db, pytest.mark.model]
F=lambda **k:k
H={
"A1 retention": ("none", (("agent","store","port",F()),("import","import",{"l":"port"},"ledger"),("import","import",{"l":"garage"},"ledger"),("curator","verify","garage"),("agent","forget","port/first"),("job","days",40),("job","retention"))),
"A1 purge": ("none", (("agent","store","port",F()),("import","import",{"l":"port"},"ledger"),("import","import",{"l":"garage"},"ledger"),("curator","purge","port/first"))),
"A2 restore": ("none", (("agent","store","order",F()),("agent","store","garage",F(supersedes="order")),("agent","restore","order"))),
"A2 undo": ("none", (("agent","store","order",F()),("agent","store","garage",F(supersedes="order")),("","undo",0))),
"A2 verb": ("none", (("agent","store","order",F()),("agent","store","garage",F()),("agent","supersede","order","garage"),("agent","restore","order"))),
"A4": ("none", (("agent","store","port",F(tags=("red",),importance=9,confidence=.95,metadata={"ticket":7},expires_at=30)),("agent","store","garage",F(supersedes="port")),("","undo",0))),
"A5 plain": ("none", (("agent","store","port",F()),("curator","verify","port"),("agent","edit","port",F(content="garage")),("curator","review","approve","garage"),("","undo",0))),
"A5 supersedes": ("none", (("agent","store","port",F()),("curator","verify","port"),("agent","store","garage",F(supersedes="port")),("curator","review","approve","garage"),("","undo",0))),
"A6": ("none", (("agent","store","port",F()),("agent","store","port2",F(supersedes="port")),("agent","store","nas",F()),("agent","store","port",F()),("agent","store","port",F(supersedes="nas")),)),
"A6 undo": ("none", (("agent","store","port",F()),("agent","store","port2",F(supersedes="port")),("agent","store","nas",F()),("agent","store","port",F()),("agent","store","port",F(supersedes="nas")),("","undo",0))),
"A7": ("none", (("import","import",{"l":"port"},"ledger"),("import","import",{"l":"garage"},"ledger"),("import","import",{"l":"port"},"ledger"))),
"A8a": ("none", (("agent","store","port",F()),("agent","store","port2",F(supersedes="port",valid_from=30,expires_at=10)),("job","days",15),("job","cycle"))),
"A8a cross": ("none", (("agent","store","port",F()),("agent","store","port2",F(valid_from=30,expires_at=10)),("agent","supersede","port","port2"),("job","days",15),("job","cycle"))),
"A8b": ("none", (("agent","store","port",F()),("agent","store","port2",F(supersedes="port",valid_from=30)),("agent","edit","port2",F(valid_from=-1)),("","undo",0))),
"A8 cleanup": ("none", (("agent","store","port",F()),("agent","store","port2",F(supersedes="port",valid_from=700,confidence=.03)),("job","days",265),("job","cycle"),("job","cycle"))),
"A12a": ("none", (("agent","store","port",F(expires_at=1)),("job","days",2),("agent","store","port",F()),("","undo",0))),
"A12a cycle": ("none", (("agent","store","port",F(expires_at=1)),("job","days",2),("job","cycle"),("agent","store","port",F()),("","undo",0))),
"A12b": ("none", (("agent","store","port",F()),("agent","edit","port",F(content="garage")),("agent","retract","garage"),("agent","restore","port"),("","undo",0))),
"A12c": ("none", (("agent","store","port",F(expires_at=.5)),("agent","forget","port"),("job","days",.8),("","undo",0))),
"A12d": ("none", (("agent","store","port",F()),("agent","retract","port","garage"),("agent","restore","port"),("","undo",0))),
}
def test_d():
    for n,h in H.items():
        r=run_history(History(*h)); print("%-12s"%n, r.steps, r.refused, r.fault)
