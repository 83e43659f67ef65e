"""Objects of other packages as plain dictionaries."""

from __future__ import annotations

from typing import Any


def to_dict(obj: Any) -> dict:
    """A partial object: a dictionary, an object of `kr8s` (its `raw`), or a model of `kubernetes.client`."""
    if isinstance(obj, dict):
        return obj
    if hasattr(obj, "openapi_types"):
        from kubernetes.client import ApiClient

        return ApiClient().sanitize_for_serialization(obj)
    raw = getattr(obj, "raw", None)
    if raw is not None:
        return dict(raw)
    raise TypeError(f"expected a dictionary, an object of kr8s or a model of kubernetes.client, not {type(obj).__name__}")


def reference(about: Any) -> str:
    """`pod/default/web-1`: the text itself, or the one of an object."""
    if isinstance(about, str):
        return about
    found = to_dict(about)
    if not found.get("kind"):
        raise ValueError("the object has no kind: write `KIND/NAMESPACE/NAME`, such as `pod/default/web-1`")
    metadata = found["metadata"]
    parts = [found["kind"].lower(), metadata.get("namespace"), metadata["name"]]
    return "/".join(part for part in parts if part)
