# SPDX-License-Identifier: Apache-2.0
"""The published model of a release: whether a tree is one that its NVUE has.

The models are those of the package nvueschema, which are generated from the OpenAPI documents that NVIDIA
publishes (README.md says more). As they are, they ignore keys that they do not know; here such a key is
refused.
"""

import importlib
import json
import re
import types
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from lab.nvue.trees import Tree


class Published:
    """The model of release 5.``minor``."""

    def __init__(self, minor: int) -> None:
        self._model: type[BaseModel] = importlib.import_module(f"nvueschema.models.v5_{minor}").NvueConfig

    def refuse(self, tree: Tree) -> list[str]:
        """List the faults of a tree: paths that the release does not have, values that it does not take."""
        wrong = list(_unknown([self._model], tree, ()))
        try:
            self._model.model_validate_json(json.dumps(tree), strict=True)
        except ValidationError as error:
            wrong += [f"{_path(each['loc'])}: {each['msg']}" for each in error.errors()]
        return wrong


@cache
def published(minor: int) -> Published:
    """The model of release 5.``minor``, loaded once: that takes half a second."""
    return Published(minor)


def _path(keys: tuple[int | str, ...]) -> str:
    """The keys of a path; pydantic adds the types that it has tried, such as literal['auto']."""
    return "/".join(str(key) for key in keys if not re.search(r"[\[(]|^constrained-", str(key)))


def _unknown(annotations: list[Any], value: object, path: tuple[str, ...]) -> Iterator[str]:
    """Paths in ``value`` that none of these types of a node has."""
    if not isinstance(value, dict):
        return
    for key, content in value.items():
        if below := [found for each in annotations for found in _below(each, key)]:
            yield from _unknown(below, content, (*path, key))
        else:
            yield f"{_path((*path, key))}: no such path"


def _below(annotation: Any, key: str) -> Iterator[Any]:
    """The types of what a node of this type may have under ``key``."""
    for each in _alternatives(annotation):
        if isinstance(each, type) and issubclass(each, BaseModel):
            fields = each.model_fields.items()
            yield from (field.annotation for name, field in fields if (field.alias or name) == key)
        elif get_origin(each) is dict:
            yield get_args(each)[1]


def _alternatives(annotation: Any) -> Iterator[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _alternatives(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for each in get_args(annotation):
            yield from _alternatives(each)
    else:
        yield annotation
