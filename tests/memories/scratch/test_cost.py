import time, statistics, random
import pytest
from django.contrib.auth.models import User
from access.models import Group
from memories.store.withdrawn import marks
from memories.store.withdrawn.tombstones import lay_tombstone
from memories.models import TombstoneKind
from tests.memories.builders import keep, row
from tests.people import person
pytestmark = [pytest.mark.django_db, pytest.mark.model]
W="ledger backup greenhouse pump cellar invoice printer queue router harbour kestrel payroll badge server archive window kitchen garden".split()
def text(n):
    r=random.Random(n)
    return f"Since {r.choice('Ann Ben Cleo Dora'.split())} moved the {r.choice(W)}, the {r.choice(W)} of the {r.choice(W)} number {n} stands in room {r.randint(1,999)}. It is checked each {r.choice(['Monday','Friday'])} by {r.choice('Ann Ben Cleo Dora'.split())}."
def test_cost(alice: User, ledger: Group) -> None:
    actor=person(alice)
    for n in range(1000):
        lay_tombstone(actor, row(ledger, text(n), state="forgotten"), kind=TombstoneKind.PURGED, reason="x")
    for n in range(2000,2010): keep(actor, text(n), group="ledger")
    real=marks.marks_inside
    times={0:[],1:[]}; cpu={0:[],1:[]}
    for n in range(3000,3500):
        which=n%2
        marks.marks_inside = real if which else (lambda *a: ())
        a,c=time.perf_counter(),time.thread_time()
        keep(actor, text(n), group="ledger", scope="group")
        times[which].append(time.perf_counter()-a); cpu[which].append(time.thread_time()-c)
    for name,d in (("wall",times),("cpu",cpu)):
        m=[statistics.median(d[k])*1e3 for k in (0,1)]
        print(name, m, m[1]/m[0])
