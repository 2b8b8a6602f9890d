"""stowage: a static memory planner for neural networks.

>>> import stowage
>>> stowage.plan("examples/classifier.onnx").peak
737280

What needs NumPy is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from stowage._errors import Error, InternalError, NotApplicable, RunFault, StowageError, UsageError

if TYPE_CHECKING:
    from stowage._functions import OffsetFunctions, plan_functions
    from stowage._pack import Offsets, pack
    from stowage._plan import (
        Buckets, Page, Plan, compare, fit, generate, inspect, load, load_buckets, plan, plan_buckets, run, strategies,
        sweep, verify)

    __version__: str

__all__ = [
    "Buckets", "Error", "InternalError", "NotApplicable", "OffsetFunctions", "Offsets", "Page", "Plan", "RunFault",
    "StowageError", "UsageError", "__version__", "compare", "fit", "generate", "inspect", "load", "load_buckets", "pack",
    "plan", "plan_buckets", "plan_functions", "run", "strategies", "sweep", "verify"]

# The modules that the names above are in.
_HOMES = {
    "_pack": {"Offsets", "pack"},
    "_functions": {"OffsetFunctions", "plan_functions"},
    "_plan": {"Buckets", "Page", "Plan", "compare", "fit", "generate", "inspect", "load", "load_buckets", "plan",
              "plan_buckets", "run", "strategies", "sweep", "verify"}}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("stowage._core").version
    home = next((it for it, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'stowage' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"stowage.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
