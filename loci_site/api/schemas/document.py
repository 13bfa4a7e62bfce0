"""The base of response schemas."""

from pydantic import BaseModel, ConfigDict, Field


class Document(BaseModel):
    """A JSON object with exactly these fields."""

    model_config = ConfigDict(extra="forbid")


class StoredText(Document):
    """Base of what carries a stored text, which is raw."""

    untrusted: bool = Field(description="True: data that somebody stored. Fence it before a model reads it.")
