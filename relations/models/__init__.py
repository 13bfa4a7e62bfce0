"""Tables of relations and entity aliases."""

from relations.models.alias import EntityAlias
from relations.models.relation import Relation, RelationEvidence

__all__ = ["EntityAlias", "Relation", "RelationEvidence"]
