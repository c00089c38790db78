"""What every section of the configuration is made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)]


class Section(BaseModel):
    """A mapping of the configuration; unknown keys are problems."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
