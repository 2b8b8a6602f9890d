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
        super().__init__(in_python(message))
        self.file = file
        self.place = place
        self.problem = in_python(problem or message)

    def __reduce__(self) -> tuple[type, tuple[str, ...]]:
        return type(self), (str(self), self.file, self.place, self.problem)


class UsageError(StowageError):
    """An option that is wrong by itself or for this input."""

    def __init__(self, message: str) -> None:
        super().__init__(in_python(message))


class NotApplicable(UsageError):
    """The strategy does not apply to the input; `obstacle` says why."""

    def __init__(self, message: str, obstacle: str = "") -> None:
        super().__init__(message)
        self.obstacle = obstacle


class RunFault(StowageError):
    """A run found that outputs differ, or that two tensors had the same bytes."""


class InternalError(RuntimeError):
    """The checker rejects a plan of stowage itself: a bug."""


# What takes names and values: --dim x=N is dim={'x': N}.
_WITH_NAMES = "dim|shape|bound|value"
# Parameters of functions here that are no planning options.
_PARAMETERS = {"cases", "check", "fit", "force", "inputs", "jobs", "kernels", "plan", "prefix", "random-weights",
               "runtime", "strip"}
# What a shell takes: in backquotes, or from the name of the program to the end of the clause.
_SHELL = re.compile(r"(`[^`]*`|(?<![\w./-])stowage [a-z][^;`\n]*)")


def in_python(message: str) -> str:
    """Options as they are called here: time_limit for --time-limit, a dict for several --dim. Commands for a shell stay
    as they are."""
    return "".join(part if i % 2 else _options_in(part) for i, part in enumerate(_SHELL.split(message)))


def _options_in(text: str) -> str:
    from stowage import _core

    def names(found: re.Match[str]) -> str:
        option, rest = found.group(1), found.group(0)
        pairs = re.findall(r"--\w+ '?([^=]+?)'?=(\S+)", rest)
        return f"{option}={{{', '.join(f'{name!r}: {value_of(given)}' for name, given in pairs)}}}"

    def value_of(given: str) -> str:
        if "," in given:
            return f"[{', '.join(map(value_of, given.split(',')))}]"
        return given if re.fullmatch(r"N|NUMBER|SIZE|\d+|\.\.\.", given) else repr(given)

    value = r"'?[^ =:]+=[^ ;)]*(?:\.\.\.|[^ ,;:).])"
    text = re.sub(rf"--({_WITH_NAMES}) {value}(?: --\1 {value})*", names, text)
    text = re.sub(r"--input ('[^']*')", r"inputs[\1]", text)
    text = re.sub(r"--extern [\w:]+(?: --extern [\w:]+)*",
                  lambda found: f"extern={re.findall('--extern ([^ ]+)', found.group(0))}", text)
    known = {name.replace("_", "-") for name, _ in _core.options()} | _PARAMETERS
    return re.sub(r"(?<![\w/.-])--([a-z][a-z-]*)",
                  lambda found: found.group(1).replace("-", "_") if found.group(1) in known else found.group(0), text)
