"""The base of response schemas."""

from pydantic import BaseModel, ConfigDict


class Document(BaseModel):
    """A JSON object with exactly these fields."""

    model_config = ConfigDict(extra="forbid")
