"""Plans, and the functions that make and take them."""

from __future__ import annotations

import html
import json
import math
import os
import pathlib
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from stowage import _core
from stowage._arrays import Table, array_from, array_to, rows_of, table_of
from stowage._errors import Error, InternalError, RunFault, UsageError, in_python
from stowage._draw import draw
from stowage._options import Models, Source, arguments_of, sources_of, texts_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from stowage._options import Options

Progress = Callable[[str, float], object]
MODEL_OPTIONS = ("dim", "shape", "bound", "value", "state", "scratch", "every_size")


class Page:
    """A report as one HTML page. `html` is its text; a notebook shows the page in a frame."""

    def __init__(self, html: str) -> None:
        self.html = html

    def __repr__(self) -> str:
        return f"<stowage.Page: {len(self.html)} characters>"

    def _repr_html_(self) -> str:
        return (f'<iframe sandbox="allow-scripts" srcdoc="{html.escape(self.html)}" title="stowage report" '
                'style="width: 100%; height: 80vh; border: 1px solid #8884"></iframe>')


class Plan:
    """A plan: where every tensor of a model is in memory, and when. `stowage.plan` and `stowage.load` make them."""

    def __init__(self, core: _core.Plan, sources: list[Source], texts: dict[str, Any]) -> None:
        self._core = core
        self._sources = sources
        self._texts = texts
        self._enough = core.enough

    @property
    def peak(self) -> int:
        """Bytes of memory that the plan needs: the sum over memories that are not for weights."""
        return int(self.summary["peak"])

    @property
    def bound(self) -> int:
        """No other offsets for these buffers, in the memories that they are in, need fewer bytes. `claims` has the
        bounds for other choices."""
        return int(self.summary["lower_bound"])

    @property
    def naive(self) -> int:
        """Bytes that are needed if no two tensors share memory."""
        return int(self.summary["naive"])

    @property
    def proven(self) -> bool:
        """Whether the peak is the bound, also of what was asked for and left out: within the choices that `claims`
        name, the plan is optimal."""
        return self.peak == self.bound and (not self.left_out or ("stream", self.peak, True) in self.claims)

    @property
    def fits(self) -> bool:
        """Whether all memories are large enough."""
        return self._core.fits

    @property
    def enough(self) -> tuple[str, int] | None:
        """If the plan does not fit: a memory, and a capacity of it that would be enough."""
        return self._enough

    def remedies(self) -> list[dict[str, Any]]:
        """What may lower the peak, and what cannot: dicts with verdict ("found", "done", "possible", "impossible"),
        what, why, bytes, which may be None, the command that tries it, or "", and whether the plan then fits. If the
        plan does not fit, other options are tried, each for a second at most, and for a list, what to keep elsewhere.
        """
        full = [it for it in self.memories if it["capacity"] is not None and it["peak"] > it["capacity"]]
        capacity = full[0]["capacity"] if len(full) == 1 and full[0]["role"] == "working" else None
        named = [name if content is not None else file if name == pathlib.PurePath(file).stem else f"{name}={file}"
                 for name, file, content in self._sources]
        typed = shlex.join(["stowage", "plan", *named, *arguments_of(self._texts)])
        with tempfile.TemporaryDirectory() as folder:
            sources: list[Source] = [(name, file, None) for name, file in _files_of(self._sources, folder)]
            rows = self._core.remedies(sources, self._texts, typed, capacity)
        names = ("verdict", "what", "why", "bytes", "command")
        found = [dict(zip(names, row)) for row in rows]
        for it in found:
            is_enough = capacity is not None and it["verdict"] == "found" and self.peak - it["bytes"] <= capacity
            it["fits"] = self.fits or is_enough
        return found

    @property
    def interrupted(self) -> bool:
        """Whether the search was cut short by the time limit or Ctrl-C."""
        return bool(self.summary["interrupted"])

    @property
    def summary(self) -> dict[str, Any]:
        """Sizes, strategy and time: naive, peak, lower_bound, strategy, order, seconds and others."""
        return self._core.summary

    @property
    def memories(self) -> list[dict[str, Any]]:
        """For each memory: name, capacity, peak, lower_bound, traffic, role."""
        return self._core.memories

    @property
    def claims(self) -> list[tuple[str, int, bool]]:
        """What is claimed about the bound: (scope, lower bound, proven optimal). The scope says which other plans it
        covers: other "offsets"; other "memories" and offsets; any "order" of operators; any
        order of "rows" along these axes; any "stream" of rows."""
        return self._core.claims

    @property
    def left_out(self) -> list[tuple[str, str, str]]:
        """What was asked for and is not in the plan, such as rows: (what, why, what may help)."""
        return [(what, in_python(why), in_python(remedy)) for what, why, remedy in self._core.left_out]

    @property
    def buffers(self) -> Table:
        """A structured array with a row for each buffer; `pandas.DataFrame(plan.buffers)` is a table of it."""
        return table_of(self._core.buffers())

    @property
    def tensors(self) -> Table:
        """A structured array with a row for each tensor; buffer and offset are -1 where it is in no planned memory."""
        return table_of(self._core.tensors())

    @property
    def steps(self) -> Table:
        """A structured array with a row for each step: which operator, or which of its rows, runs when."""
        return table_of(self._core.steps())

    def to_json(self, path: str | os.PathLike[str] | None = None, *, expanded: bool = False) -> str:
        """The plan as JSON (docs/plan-json.md), which `stowage.load` reads back. Also written to `path`, if given.

        What repeats is written once, or with `expanded` an entry for each step, buffer and view.
        """
        return _written(self._core.json(expanded), path)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The buffers with their offsets as CSV."""
        return _written(self._core.csv(), path)

    def svg(self, path: str | os.PathLike[str] | None = None) -> str:
        """A picture of the memory: time to the right, addresses upwards."""
        return _written(self._core.svg(), path)

    def loops(self) -> str:
        """The loops of a streamed plan with layout="ring", as C."""
        return self._core.loops()

    def save_header(self, path: str | os.PathLike[str], *, prefix: str = "stowage", names: bool = True) -> None:
        """Writes the plan as a C header; not for streamed plans and lists."""
        models = {name: text for name, text in self._texts.items() if name in MODEL_OPTIONS}
        _written(_core.header(self._core, self._need_sources("save_header"), models, prefix, names), path)

    @overload
    def report(self) -> Page: ...
    @overload
    def report(self, path: str | os.PathLike[str]) -> None: ...
    def report(self, path: str | os.PathLike[str] | None = None) -> Page | None:
        """The plan as one HTML page: its picture, its peak, and what would lower it (docs/report.md).

        With `path`, the page is written there. Without, the result is a page that notebooks show.
        """
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "plan.json")
            output = os.path.join(folder, "plan.html") if path is None else os.fspath(path)
            self.to_json(file)
            arguments = [file, "-o", output]
            for model, named in _files_of(self._sources, folder):
                arguments += ["--model", f"{model}={named}"]
            models = {name: text for name, text in self._texts.items() if name in MODEL_OPTIONS}
            _command("report", [], models, arguments)
            return Page(pathlib.Path(output).read_text(encoding="utf-8")) if path is None else None

    def save_tflite(
        self, path: str | os.PathLike[str], *, runtime: str | int = "32", kernels: str = "reference",
        strip: bool = False,
    ) -> Plan:
        """Writes the TFLite model with offsets that TensorFlow Lite Micro obeys.

        Its stock kernels allow less than other runtimes, so the model is planned again, for them, with the options
        of this plan. The result is that plan.
        """
        arguments = ["-o", os.fspath(path), "--runtime", str(runtime), "--kernels", kernels]
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "plan.json")
            # As JSON it says nothing of other plans, which would take searches of their own.
            arguments += ["-o", file, "--json"] + (["--strip"] if strip else [])
            _command("tflm", self._need_sources("save_tflite"), self._texts, arguments)
            return load(file, self._sources)

    def save_c(
        self, folder: str | os.PathLike[str], *, name: str | None = None, kernels: str = "portable",
        cases: int = 1, inputs: Mapping[str, npt.ArrayLike] | None = None, extern: Sequence[str] = (),
        test: bool = True, force: bool = False,
    ) -> str:
        """Writes C99 that runs the network inside this plan (docs/generate.md). Its test runs `inputs`, by name;
        others are random. The result says how large it is, and whether its test has passed."""
        sources = self._need_sources("save_c")
        return _generate(sources, self._texts, folder, name, kernels, cases, inputs, extern, test, force, self)

    def run(
        self, inputs: Mapping[str, npt.ArrayLike] | None = None, *, check: bool | str = False, seed: int = 0,
        random_weights: int | None = None, progress: Progress | None = None,
    ) -> dict[str, npt.NDArray[Any]]:
        """Runs the network inside the plan: arrays by the names of inputs, arrays by the names of outputs.

        Inputs that are not given are random numbers from `seed`. `check` compares the outputs, and "all" every
        tensor, with a second run in which every tensor has its own memory; a difference raises `RunFault`. With
        several models, names are MODEL.NAME. `progress(what, fraction)` hears how much of the run is done; if it returns
        False, KeyboardInterrupt is raised.
        """
        sources = self._need_sources("run")
        arrays = {name: array_from(value) for name, value in (inputs or {}).items()}
        texts = {it: text for it, text in self._texts.items() if it in MODEL_OPTIONS} | {"seed": str(seed)}
        checked = "" if not check else "all" if check == "all" else "outputs"
        weights = "" if random_weights is None else str(random_weights)
        outputs, fault, interrupted = _core.run(self._core, sources, texts, arrays, "plain", checked, weights, progress)
        if fault is not None:
            raise RunFault(fault)
        if interrupted:
            raise KeyboardInterrupt
        several = len(sources) > 1
        return {f"{sources[model][0]}.{name}" if several else name: array_to(dtype, shape, data)
                for model, name, dtype, shape, data in outputs}

    def plot(self, ax: Any = None, *, names: bool = True) -> Any:
        """The memory as matplotlib's axes: time to the right, addresses upwards. Needs matplotlib.

        `ax` are the axes to draw in, new ones if there are none. Buffers that are wide enough have their names.
        """
        return draw(self, ax, names)

    def difference(self, other: Plan) -> dict[str, Any]:
        """What changed from this plan to another one: numbers, and buffers that came, went, grew or moved."""
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, name) for name in ("before.json", "after.json")]
            for it, file in zip((self, other), files):
                it.to_json(file)
            return json.loads(_command("diff", [], {}, [*files, "--json"]))  # type: ignore[no-any-return]

    def _content(self) -> dict[str, Any]:
        """All but the time that it took."""
        document = json.loads(self.to_json())
        document["summary"].pop("seconds", None)
        return document  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        """Whether both give the same buffers the same places, and run the same steps, however long it took."""
        return self._content() == other._content() if isinstance(other, Plan) else NotImplemented

    def __hash__(self) -> int:
        return hash(json.dumps(self._content(), sort_keys=True))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._core.json(), self._sources, self._texts, self.enough)

    def __copy__(self) -> Plan:
        return self  # it cannot change

    def __deepcopy__(self, memo: Any) -> Plan:
        return self

    def verify(self) -> list[str]:
        """The faults that the checker finds in this plan, with its models: none, or there is a bug."""
        return verify(self, self._sources or None)

    def _need_sources(self, what: str) -> list[Source]:
        if not self._sources:
            raise UsageError(f"{what} needs the model, expected load(plan, model)")
        return self._sources

    def __str__(self) -> str:
        return self._core.text()

    def __repr__(self) -> str:
        proof = "proven" if self.proven else f"bound {self.bound}"
        remarks = ", cut short" if self.interrupted and not self.proven else ""
        remarks += "".join(f", without {what}" for what, _, _ in self.left_out)
        return f"<stowage.Plan: peak {self.peak} bytes, {proof}, {len(self._core.buffers()['id'])} buffers{remarks}>"

    def _repr_html_(self) -> str:
        return f"<div><pre style='font-family: monospace'>{html.escape(str(self))}</pre>{self.svg()}</div>"


class Buckets:
    """Plans of the same models for several sizes, of which one runs at a time in the same memories. State, and weights
    in a memory of their own, have one place in all. `stowage.plan_buckets` makes them."""

    def __init__(self, document: Mapping[str, Any], sources: list[Source], texts: Mapping[str, Any]) -> None:
        self._document = document
        self._sources = sources
        self._buckets: list[tuple[dict[str, int], Plan]] = []
        for bucket in document["buckets"]:
            sizes: dict[str, int] = bucket["sizes"]
            others = [text for text in texts.get("dim", []) if text.rpartition("=")[0] not in sizes]
            own = {**texts, "dim": others + [f"{name}={size}" for name, size in sizes.items()]}
            content = json.dumps(bucket["plan"]).encode()
            self._buckets.append((sizes, _loaded(content, "plan", sources, own)))

    @property
    def plans(self) -> list[tuple[dict[str, int], Plan]]:
        """The sizes and the plan of each bucket, the largest last."""
        return list(self._buckets)

    @property
    def peak(self) -> int:
        """Bytes of memory that all of them need."""
        return max(plan.peak for _, plan in self._buckets)

    @property
    def fits(self) -> bool:
        """Whether all memories are large enough for all buckets."""
        return all(plan.fits for _, plan in self._buckets)

    @property
    def memories(self) -> list[dict[str, Any]]:
        """For each memory: name and the largest peak."""
        return list(self._document["memories"])

    @property
    def shared(self) -> list[dict[str, Any]]:
        """State and constants that have one place in all: buffer, memory, offset, size."""
        return list(self._document["shared"])

    def at(self, **sizes: int) -> Plan:
        """The plan of the smallest bucket that holds these sizes. `at(**{"x[1]": 300})` takes any names."""
        names = sorted(self._buckets[0][0])
        if sorted(sizes) != names:
            raise UsageError(f"sizes are {', '.join(sizes) or 'missing'}, expected {', '.join(names)}")
        held = [it for it in self._buckets if all(size <= it[0][name] for name, size in sizes.items())]
        if not held:
            words = " ".join(f"{name}={size}" for name, size in sizes.items())
            most = " ".join(f"{name}={size}" for name, size in self._buckets[-1][0].items())
            raise UsageError(f"{words} is beyond the largest bucket, {most}")
        return min(held, key=lambda it: math.prod(it[0].values()))[1]

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """All plans as one JSON document (docs/plan-json.md), which `stowage.load_buckets` reads back."""
        return _written(json.dumps(self._document), path)

    def verify(self) -> list[str]:
        """The faults that the checker finds in the plans, with their models, and in what they share."""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "plan.json")
            self.to_json(file)
            arguments = [file, "--json"]
            for model, named in _files_of(self._sources, folder):
                arguments += ["--model", f"{model}={named}"]
            sizes, plan = self._buckets[0]
            models = {name: text for name, text in plan._texts.items() if name in MODEL_OPTIONS}
            models["dim"] = [text for text in models["dim"] if text.rpartition("=")[0] not in sizes]
            given = models if self._sources else {}
            return list(json.loads(_command("verify", [], given, arguments, accepted=(0, 1)))["faults"])

    def __repr__(self) -> str:
        return f"<stowage.Buckets: {len(self._buckets)} plans, peak {self.peak} bytes>"


def _loaded(content: bytes, name: str, sources: list[Source], texts: Mapping[str, Any]) -> Plan:
    """The plan has sizes and values of its models, which nobody has to give again."""
    core = _core.load(content, name, sources, dict(texts))
    return _plan_of(core, sources, {**texts, **core.texts})


def _plan_of(core: _core.Plan, sources: list[Source], texts: dict[str, Any]) -> Plan:
    if not core.symbols:
        return Plan(core, sources, texts)
    from stowage._functions import OffsetFunctions

    return OffsetFunctions(core, sources, texts)


def _restored(text: str, sources: list[Source], texts: dict[str, Any], enough: tuple[str, int] | None) -> Plan:
    """A plan from its pickle. Models that are no longer where they were are left out of it."""
    try:
        plan = _loaded(text.encode(), "plan", sources, texts)
    except Error:
        plan = _plan_of(_core.load(text.encode(), "plan", [], {}), sources, texts)
    plan._enough = enough
    return plan


def _written(text: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        pathlib.Path(path).write_text(text, encoding="utf-8")
    return text


def _checked(core: _core.Plan) -> _core.Plan:
    if core.faults:
        raise InternalError(f"the checker rejects the plan, a bug in stowage: {core.faults[0]}")
    return core


def plan(models: Models, *, progress: Progress | None = None, **options: Unpack[Options]) -> Plan:
    """Plans memory: gives every tensor of a model, or of several, an offset.

    A model is a path, bytes, or an onnx.ModelProto; several are a list, or a dict with their names. Options are
    those of the command, with '_' for '-'. Ctrl-C returns the best plan so far.

    `progress(what, fraction)` hears what is tried, and the part of the time limit that is over; with `effort`, whose
    end nobody knows, that stays 0. If it returns False, the best plan so far is returned.

    >>> import stowage
    >>> plan = stowage.plan("examples/classifier.onnx")
    >>> plan.peak, plan.bound, plan.proven
    (737280, 737280, True)
    >>> stowage.plan("examples/classifier.onnx", stream=True, io="rows").peak < plan.peak
    True
    >>> stowage.plan("examples/classifier.onnx", align=0)
    Traceback (most recent call last):
    stowage._errors.UsageError: align is '0', expected a whole number of at least 1
    """
    sources = sources_of(models)
    texts = texts_of(options)
    return Plan(_checked(_core.plan(sources, texts, progress)), sources, texts)


def plan_buckets(models: Models, **options: Unpack[Options]) -> Buckets:
    """Plans memory for several sizes, which `dim` lists: dim={"seq": [128, 512]}. A plan for each of them, or for each
    combination, with state at one place in all. The time limit is that of all together."""
    sources = sources_of(models)
    texts = texts_of(options)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "plan.json")
        _command("plan", sources, texts, ["-o", file], accepted=(0, 1))
        return Buckets(json.loads(pathlib.Path(file).read_text(encoding="utf-8")), sources, texts)


def load_buckets(
    file: str | os.PathLike[str] | bytes, models: Models | list[Source] | None = None, **options: Unpack[Options]
) -> Buckets:
    """Reads plans for several sizes from a JSON file. With the models, they can be run and saved as C."""
    content, name = _content_of(file)
    _core.expect_buckets(content, name)
    return Buckets(json.loads(content), _sources(models), texts_of(options))


def fit(
    models: Models, names: str | Sequence[str], *, progress: Progress | None = None, **options: Unpack[Options]
) -> list[dict[str, Any]]:
    """The largest size of what a model leaves open so that one plan for every size up to it fits `capacity` or the
    sizes of `memory`; with `stream`, one for it alone. With two names, the largest of the second for each size of the
    first, those that `dim` lists or powers of two.

    A dict for each row: the sizes by their names (None: not even the smallest fits), "least", the smallest size that
    was asked for, which without a range in `dim` is the smallest that the model accepts, "peak", "next", the next size,
    and "why" it does not fit, "larger", single sizes beyond it that do, and "interrupted": larger sizes may fit, too.
    """
    given = names.split(",") if isinstance(names, str) else list(names)
    rows = _core.fit(sources_of(models), texts_of(options), ",".join(given), progress)
    keys = ("least", "peak", "next", "why", "larger", "interrupted")
    return [({} if row[0] is None else {given[0]: row[0]}) | {given[-1]: row[1]} | dict(zip(keys, row[2:]))
            for row in rows]


def load(
    file: str | os.PathLike[str] | bytes, models: Models | list[Source] | None = None, **options: Unpack[Options]
) -> Plan:
    """Reads a plan from a JSON file, or from its bytes. With the models, it can be run and saved as C; their sizes and
    values of inputs are those of the plan. One with offsets as functions of sizes becomes an `OffsetFunctions`.

    >>> import stowage
    >>> plan = stowage.plan("examples/buffers.csv")
    >>> stowage.load(plan.to_json().encode()).peak == plan.peak
    True
    """
    content, name = _content_of(file)
    if _core.has_buckets(content):
        problem = "has plans for several sizes, which load_buckets reads"
        raise Error(f"{name}: {problem}", name, "", problem)
    return _loaded(content, name, _sources(models), texts_of(options))


def _content_of(file: str | os.PathLike[str] | bytes) -> tuple[bytes, str]:
    """The bytes of a file, and its name in messages."""
    if isinstance(file, bytes):
        return file, "plan"
    name = os.fspath(file)
    try:
        return pathlib.Path(file).read_bytes(), name
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
        raise Error(f"{name}: {problem}", name, "", problem) from error


def _sources(models: Models | list[Source] | None) -> list[Source]:
    """Models as they are given, or as another function has taken them."""
    if models is None:
        return []
    if isinstance(models, list) and models and all(isinstance(it, tuple) for it in models):
        return models
    return sources_of(models)


def verify(
    plan: Plan | str | os.PathLike[str] | bytes, models: Models | list[Source] | None = None,
    **options: Unpack[Options],
) -> list[str]:
    """The faults of a plan, made by any program, in words; none if it is right. With the models, its steps are
    replayed, too; `dim` may give sizes within its ranges. The file may also have plans for several sizes.

    >>> import stowage
    >>> stowage.verify(stowage.plan("examples/classifier.onnx"), "examples/classifier.onnx")
    []
    """
    if not isinstance(plan, Plan):
        content, name = _content_of(plan)
        if _core.has_buckets(content):
            return load_buckets(plan, models, **options).verify()
        plan = _loaded(content, name, [], {})
    given = plan
    sources = _sources(models)
    texts = dict(given._texts if not options else texts_of(options))
    return _core.verify(given._core, sources, {name: it for name, it in texts.items() if name in MODEL_OPTIONS})


def compare(models: Models, *, progress: Progress | None = None, **options: Unpack[Options]) -> Table:
    """Plans with every strategy. A structured array: strategy, peak, bound, seconds, fits, interrupted, left_out
    (what was asked for and is not in the plan), obstacle. `progress` hears how many strategies are done, as a part of
    all; if it returns False, the rest is left out.

    >>> import stowage
    >>> rows = stowage.compare("examples/buffers.csv", time_limit=1)
    >>> bool(rows[rows["strategy"] == "auto"]["peak"][0] == rows[rows["fits"]]["peak"].min())
    True
    """
    rows = _core.compare(sources_of(models), texts_of(options), progress)
    _expect_no_faults(rows)
    return rows_of([row[:-1] for row in rows], [("strategy", "O"), ("peak", "i8"), ("bound", "i8"), ("seconds", "f8"),
                                              ("fits", "?"), ("interrupted", "?"), ("left_out", "O"),
                                              ("obstacle", "O")])


def sweep(
    models: Models, *, jobs: int = 1, progress: Progress | None = None, **options: Unpack[Options]
) -> Table:
    """Plans for many sizes of a fast memory (memory={"SRAM": "64KiB..512KiB"}) with every strategy that applies, so
    many sizes at once as `jobs` says.

    A structured array: size, strategy, moves, traffic (bytes of slower memories), cost, fits, interrupted,
    unavoidable, obstacle. `progress` hears how many sizes are begun, as a part of all; if it returns False, the rest is
    left out.
    """
    if jobs < 1:
        raise UsageError(f"jobs is {jobs}, expected at least 1")
    rows = _core.sweep(sources_of(models), texts_of(options), jobs, progress)
    _expect_no_faults(rows)
    return rows_of([row[:-1] for row in rows], [("size", "i8"), ("strategy", "O"), ("moves", "?"), ("traffic", "i8"),
                                              ("cost", "i8"), ("fits", "?"), ("interrupted", "?"),
                                              ("unavoidable", "i8"), ("obstacle", "O")])


def _expect_no_faults(rows: Sequence[tuple[Any, ...]]) -> None:
    for row in rows:
        if row[-1]:
            raise InternalError(f"the checker rejects a plan, a bug in stowage: {row[-1][0]}")


def run(
    models: Models, inputs: Mapping[str, npt.ArrayLike] | None = None, *, plan: Plan | None = None,
    check: bool | str = False, random_weights: int | None = None, progress: Progress | None = None,
    **options: Unpack[Options],
) -> dict[str, npt.NDArray[Any]]:
    """Plans models, or takes a plan of them, and runs them inside it. See `Plan.run`.

    >>> import stowage
    >>> outputs = stowage.run("examples/classifier.onnx", check="all", random_weights=1)
    >>> outputs["probabilities"].shape, outputs["probabilities"].dtype.name
    ((1, 10), 'float32')
    """
    from stowage import _plan

    if plan is None:
        made = _plan.plan(models, progress=_half(progress, 0), **options)
        progress = _half(progress, 0.5)
    else:
        made = Plan(plan._core, sources_of(models), texts_of(options))
    seed = int(made._texts.get("seed", 0))
    return made.run(inputs, check=check, seed=seed, random_weights=random_weights, progress=progress)


def _half(progress: Progress | None, begin: float) -> Progress | None:
    """What hears of one of two halves of a call."""
    return None if progress is None else lambda what, fraction: progress(what, begin + fraction / 2)


def generate(
    models: Models, folder: str | os.PathLike[str], *, name: str | None = None, kernels: str = "portable",
    cases: int = 1, inputs: Mapping[str, npt.ArrayLike] | None = None, extern: Sequence[str] = (),
    test: bool = True, force: bool = False, plan: Plan | None = None, **options: Unpack[Options],
) -> str:
    """Plans models, or takes a plan of them, and writes C99 that runs them inside it (docs/generate.md). Its test runs
    `inputs`, by name, MODEL.NAME if several models have it; others are random. The result says how large it is, and
    whether its test has passed."""
    sources, texts = sources_of(models), texts_of(options)
    return _generate(sources, texts, folder, name, kernels, cases, inputs, extern, test, force, plan)


def _generate(
    sources: list[Source], texts: Mapping[str, Any], folder: str | os.PathLike[str], name: str | None, kernels: str,
    cases: int, inputs: Mapping[str, npt.ArrayLike] | None, extern: Sequence[str], test: bool, force: bool,
    plan: Plan | None,
) -> str:
    arguments = ["-o", os.fspath(folder), "--kernels", kernels, "--cases", str(cases)]
    arguments += ([] if test else ["--no-test"]) + (["--force"] if force else [])
    if name is not None:
        arguments += ["--name", name]
    for operator in extern:
        arguments += ["--extern", operator]
    with tempfile.TemporaryDirectory() as temporary:
        for i, (tensor, value) in enumerate((inputs or {}).items()):
            file = os.path.join(temporary, f"input_{i}.npy")
            np.save(file, np.asarray(value))
            arguments += ["--input", f"{tensor}={file}"]
        if plan is not None:
            file = os.path.join(temporary, "plan.json")
            plan.to_json(file)
            arguments += ["--plan", file]
            texts = {it: text for it, text in texts.items() if it in MODEL_OPTIONS}
        return _command("generate", sources, texts, arguments)


def inspect(
    model: str | os.PathLike[str] | bytes, *, runtime: str | int = "32", kernels: str = "reference"
) -> dict[str, Any]:
    """What TensorFlow Lite Micro makes of a TFLite file: the plan in it, its faults, and the arena."""
    arguments = ["--runtime", str(runtime), "--kernels", kernels, "--json"]
    found: dict[str, Any] = json.loads(_command("inspect", sources_of(model), {}, arguments, accepted=(0, 1)))
    return found


def _files_of(sources: Sequence[Source], folder: str) -> list[tuple[str, str]]:
    """Names and files of models; those in memory become files in a folder."""
    files = []
    for model, file, content in sources:
        if content is not None:
            file = os.path.join(folder, model)
            pathlib.Path(file).write_bytes(content)
        files.append((model, file))
    return files


def _command(
    name: str, sources: Sequence[Source], texts: Mapping[str, Any], arguments: Sequence[str],
    accepted: Sequence[int] = (0,),
) -> str:
    """What the command prints. Models in memory become files for it."""
    with tempfile.TemporaryDirectory() as folder:
        files = [file if name == "inspect" else f"{model}={file}" for model, file in _files_of(sources, folder)]
        status, out, error = _core.command(["stowage", name, *files, *arguments_of(texts), *arguments])
    if status in accepted:
        return out
    message = error.strip().removeprefix("stowage: ") or out.strip()
    if status == 2:
        raise UsageError(message)
    if status == 4:
        raise InternalError(message)
    raise Error(message)


def strategies() -> list[tuple[str, str, str]]:
    """All strategies: name, what it does, where it comes from."""
    return _core.strategies()
