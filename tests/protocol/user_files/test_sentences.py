"""Errors of pydantic, as sentences."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from acp_protocol.user_files.sentences import error_sentence


class Inner(BaseModel):
    size: int = 0


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: str
    kind: Literal["one", "two"] = "one"
    is_on: bool = False
    words: list[str] = Field(default=[], min_length=1)
    inner: Inner = Inner()
    rate: float = Field(default=0.0, ge=0)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"name": None}, "must be a string"),
        ({}, "is missing"),
        ({"nmae": "x"}, "unknown key; did you mean name?"),
        ({"zzz": "x"}, "unknown key"),
        ({"kind": "three"}, "must be one or two"),
        ({"is_on": 1}, "must be true or false"),
        ({"words": "x"}, "must be a list"),
        ({"words": []}, "must have at least 1 item"),
        ({"inner": 1}, "must be a table"),
        ({"inner": {"size": "x"}}, "must be a whole number"),
        ({"rate": -1.0}, "must be at least 0"),
    ],
)
def test_an_error_is_a_sentence(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Table.model_validate(values if not values or "name" in values else {"name": "x", **values})
    (error,) = caught.value.errors()
    assert error_sentence(error, Table.model_fields) == sentence
