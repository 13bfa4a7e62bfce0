import os, pytest
from tests.changes.histories import make_history, run_history, minimise
pytestmark = [pytest.mark.django_db, pytest.mark.model]
def test_m():
    for s in map(int, os.environ["S"].split(",")):
        r=run_history(make_history(s))
        if not r.fault: print(s, None); continue
        m=minimise(make_history(s), r.fault.kind)
        print(s, run_history(m).fault, "\n   ", m.as_test(), flush=True)
