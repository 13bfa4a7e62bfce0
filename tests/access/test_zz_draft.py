import collections, pytest
from django.db import transaction
from tests.access import matrix as mx
from tests.access.test_matrix import *
def test_draft(world):
    text = mx.PATH.read_text()
    faces=[]
    sec=""
    for line in text.splitlines():
        if line.startswith("["): sec=line
        elif sec=="[faces]" and line and not line.startswith("#"):
            head, rule, *sent = (p.strip() for p in line.split("|",2)); k,n=head.split(" ",1)
            faces.append(Face(k," ".join(n.split()),rule,*sent))
    callers="owner admin curator contributor viewer stranger only-read only-write only-curate only-admin elsewhere dead".split()
    got=collections.defaultdict(list)
    for f in faces:
        ask = ask_rest if f.kind=="rest" else ask_mcp
        for place in ("own","foreign","global","missing"):
            row=[]
            for c in callers:
                res=set()
                for s in world.secrets_of(c):
                    with transaction.atomic():
                        try: res.add(ask(f, world.places[place], s))
                        except Exception as e: res.add("EXC:"+repr(e)[:300])
                        transaction.set_rollback(True)
                row.append("/".join(sorted(res)))
            got[f.rule,place].append((tuple(row),f.kind+" "+f.name))
    with open("/tmp/t/u1/draft.txt","w") as out:
        for (rule,place),rows in got.items():
            by=collections.defaultdict(list)
            for r,n in rows: by[r].append(n)
            for r,ns in by.items():
                print(rule.ljust(20),place.ljust(8)," ".join(x.ljust(4) for x in r), "" if len(by)==1 else "  <<< "+"; ".join(ns), file=out)
