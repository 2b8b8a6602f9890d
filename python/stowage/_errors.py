"""Exceptions. All that the package raises about its input is a `StowageError`."""

from __future__ import annotations

import re


class StowageError(ValueError):
    """What all exceptions of this package are."""


class Error(StowageError):
    """A rejected input: a wrong file, or a value in it.

    `file` and `place` say where ("model.onnx", "tensor 'x'"); they may be empty. `problem` has the value and what
    was expected.
    """

    def __init__(self, message: str, file: str = "", place: str = "", problem: str = "") -> None:
        super().__init__(_in_python(message))
        self.file = file
        self.place = place
        self.problem = _in_python(problem or message)

    def __reduce__(self) -> tuple[type, tuple[str, ...]]:
        return type(self), (str(self), self.file, self.place, self.problem)


class UsageError(StowageError):
    """An option that is wrong by itself or for this input."""

    def __init__(self, message: str) -> None:
        super().__init__(_in_python(message))


class NotApplicable(UsageError):
    """The strategy does not apply to the input; `obstacle` says why."""

    def __init__(self, message: str, obstacle: str = "") -> None:
        super().__init__(message)
        self.obstacle = obstacle


class RunFault(StowageError):
    """A run found that outputs differ, or that two tensors had the same bytes."""


class InternalError(RuntimeError):
    """The checker rejects a plan of stowage itself: a bug."""


def _in_python(message: str) -> str:
    """Options as they are called here: time_limit for --time-limit, a dict for several --dim."""

    def dims(found: re.Match[str]) -> str:
        pairs = re.findall(r"--dim '?([^=]+?)'?=(\S+)", found.group(0))
        sizes = (f"{name!r}: {size if size == 'N' else repr(size)}" for name, size in pairs)
        return f"dim={{{', '.join(sizes)}}}"

    message = re.sub(r"--dim '?[^ =]+=[^ ,;)]*N(?: --dim '?[^ =]+=[^ ,;)]*N)*", dims, message)
    return re.sub(r"(?<![\w/.-])--([a-z][a-z-]*)", lambda found: found.group(1).replace("-", "_"), message)
