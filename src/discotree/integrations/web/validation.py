"""Validate the JSON of a request: from bytes, without an object per value, up to the first error."""

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from discotree.integrations.web.limits import RequestRefused

M = TypeVar("M", bound=BaseModel)
MAX_ERRORS = 100  # more are counted, not listed: unknown fields are the only errors that do not end the validation
MISMATCHES = {"string_type", "list_type", "model_type"}


def validate(model: type[M], body: bytes) -> M:
    """Return the request in a body. An error names the field but does not repeat its value, which may be long."""
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        if error.error_count() > MAX_ERRORS:
            raise RequestRefused(422, f"the request has {error.error_count():,} unknown fields") from None
        problems = error.errors(include_url=False, include_context=False, include_input=False)
    # Where a field allows several kinds of value, the one that fits best has the deepest error.
    problem = min(problems, key=lambda one: (_is_mismatch(one["type"], one["loc"]), -len(one["loc"])))
    if problem["type"] == "json_invalid":
        raise RequestRefused(400, problem["msg"])
    field = ".".join(str(step) for step in problem["loc"] if not _is_kind(step))
    raise RequestRefused(422, f"{field}: {problem['msg']}" if field else problem["msg"])


def _is_mismatch(problem: str, location: Sequence[int | str]) -> bool:
    """Tell whether a value, or its first item, is of another kind than this one of those that its field allows."""
    return problem in MISMATCHES and any(map(_is_kind, location[-2:]))


def _is_kind(step: int | str) -> bool:
    """Tell whether a step of a location names a kind of value, such as list[str] or TreeRecord, and no field."""
    return isinstance(step, str) and (step == "str" or not step.isidentifier() or not step.islower())
