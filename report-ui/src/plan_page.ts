// The page that plans: a file and a few fields become a report. All of it runs in this page; nothing is sent.

import { h, replace } from "./dom";
import { readable } from "./format";
import type { Answer, FromWorker, Question } from "./plan_messages";
import PlanWorker from "./plan_worker?worker&inline";
import { save } from "./save";
import { themeButton } from "./theme";
import "./style.css";
import "./plan_page.css";

/** The program, which the page holds as text: packed by gzip, in base 64. */
async function unpackedProgram(): Promise<WebAssembly.Module> {
  const text = document.getElementById("stowage-program")?.textContent ?? "";
  const packed = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const program = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(program).arrayBuffer());
}

/** A field with its label and what it takes. */
function field(name: string, label: string, hint: string, attributes: Record<string, string>) {
  const input = h("input", { id: name, name, "aria-describedby": `${name}-hint`, ...attributes });
  const element = h(
    "div",
    { class: "field" },
    h("label", { for: name }, label),
    input,
    h("div", { class: "hint", id: `${name}-hint` }, hint),
  );
  return { element, input };
}

const file = h("input", { id: "file", type: "file", "aria-describedby": "file-hint" });
const plain = { type: "text", autocomplete: "off", spellcheck: "false", autocapitalize: "off" };
const capacity = field("capacity", "Capacity", "256KiB, 1.5MB or bytes; empty: no limit", plain);
const seconds = field("seconds", "Seconds", "for the search; empty: 3", { ...plain, inputmode: "decimal" });
const sizes = field("sizes", "Open sizes", "batch=1 seq=..128: what the model leaves open", plain);
const values = field("values", "Values of inputs", "shape=1,80: an input that decides sizes", plain);
const states = field("states", "State", "OUTPUT=INPUT: an output is the next input", plain);
const rows = h("input", { id: "rows", type: "checkbox" });
const begin = h("button", { type: "submit", class: "begin" }, "Plan");
const stop = h("button", { type: "button", disabled: true }, "Stop");
const status = h("p", { class: "status", role: "status" });
const progress = h("progress", {
  max: 1,
  value: 0,
  "aria-label": "Progress of the present search",
  hidden: true,
});
const doing = h("p", { class: "hint doing" });
const failure = h("div", { role: "alert" });
const result = h("div", {});

const program = unpackedProgram();
let worker: Worker | null = null;
let turn = 0; // grows whenever a plan begins, ends or is stopped
let chosen: File | null = null;
const addresses: string[] = [];

function addressOf(text: string, type: string): string {
  const address = URL.createObjectURL(new Blob([text], { type }));
  addresses.push(address);
  return address;
}

function fail(message: string): void {
  status.textContent = "";
  replace(failure, h("p", { class: "problem" }, message));
}

/** The fields by the options of the command, of which errors speak. */
const fieldOf = {
  "--capacity": capacity.input,
  "--time-limit": seconds.input,
  "--dim": sizes.input,
  "--value": values.input,
  "--state": states.input,
};

/** Marks the fields that a message names, and leads to the first of them. */
function mark(message: string): void {
  const words = new Set(message.split(/[^\w-]+/));
  const named = Object.entries(fieldOf).filter(([option]) => words.has(option));
  for (const input of Object.values(fieldOf)) input.removeAttribute("aria-invalid");
  for (const [, input] of named) input.setAttribute("aria-invalid", "true");
  named[0]?.[1].focus();
}

/** While a plan is made, it can be stopped and no other one can begin. */
function setBusy(isBusy: boolean): void {
  const hadFocus = document.activeElement;
  ++turn;
  begin.disabled = isBusy;
  stop.disabled = !isBusy;
  progress.hidden = !isBusy;
  progress.removeAttribute("value");
  doing.textContent = "";
  if (hadFocus === begin && isBusy) stop.focus();
  if (hadFocus === stop && !isBusy) begin.focus();
  if (isBusy) return;
  worker?.terminate();
  worker = null;
}

function show(name: string, answer: Answer): void {
  mark(answer.error);
  if (answer.error !== "") {
    fail(answer.error);
    return;
  }
  const isProven = answer.peak === answer.lowerBound;
  const bound = isProven ? "proven optimal" : `lower bound ${readable(answer.lowerBound)}`;
  status.textContent = `${name} is planned in ${answer.seconds.toFixed(1)} s: peak ${readable(answer.peak)}, ${bound}.`;
  const stem = name.replace(/\.[^.]*$/, "");
  const saved = (label: string, ending: string, text: string, type: string) =>
    h("button", { type: "button", click: () => save(`${stem}.${ending}`, addressOf(text, type)) }, label);
  const notes = answer.notes.split("\n").filter((line) => line !== "");
  replace(
    result,
    h(
      "section",
      { "aria-label": "Report" },
      ...notes.map((line) => h("p", { class: "note" }, line)),
      h(
        "div",
        { class: "actions" },
        saved("Save the report (HTML)", "html", answer.report, "text/html"),
        saved("Save the plan (JSON)", "json", answer.plan, "application/json"),
      ),
    ),
    h("iframe", {
      title: `Report of ${name}`,
      sandbox: "allow-scripts allow-downloads",
      srcdoc: answer.report,
    }),
  );
}

function ask(question: Question): void {
  const from = performance.now();
  worker = new PlanWorker();
  worker.addEventListener("error", (event) => {
    setBusy(false);
    fail(`the planner cannot run here: ${event.message}`);
  });
  worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => {
    if ("what" in data) {
      progress.value = data.fraction;
      doing.textContent = `${data.what}, ${((performance.now() - from) / 1000).toFixed(0)} s`;
      return;
    }
    setBusy(false);
    if ("failure" in data) fail(data.failure);
    else show(question.name, data.answer);
  });
  worker.postMessage(question, [question.bytes]);
}

async function plan(): Promise<void> {
  if (begin.disabled) return;
  replace(failure);
  replace(result);
  for (const address of addresses.splice(0)) URL.revokeObjectURL(address);
  if (chosen === null) {
    fail("no file is given: choose a model or a list, or drop one on this page");
    file.focus();
    return;
  }
  const name = chosen.name;
  setBusy(true);
  const own = turn;
  status.textContent = `Planning ${name}.`;
  try {
    const [module, bytes] = await Promise.all([program, chosen.arrayBuffer()]);
    if (own !== turn) return; // stopped before it began
    ask({
      module,
      bytes,
      name,
      capacity: capacity.input.value.trim(),
      seconds: seconds.input.value.trim(),
      sizes: sizes.input.value,
      values: values.input.value,
      states: states.input.value,
      rows: rows.checked,
    });
  } catch (error) {
    if (own !== turn) return;
    setBusy(false);
    fail(`${name} cannot be planned here: ${error instanceof Error ? error.message : error}`);
  }
}

/** A file that is chosen or dropped is planned at once. */
function take(files: FileList | null | undefined): void {
  if (files === null || files === undefined || files.length === 0) return;
  if (files.length > 1) {
    fail("several files are given, expected one: `stowage plan` plans several models together");
    return;
  }
  setBusy(false);
  chosen = files[0];
  void plan();
}

const dropZone = h(
  "div",
  { class: "drop" },
  h("label", { for: "file" }, "Model or list"),
  file,
  h("div", { class: "hint", id: "file-hint" }, "Choose a file, or drop one anywhere on this page."),
);
const form = h(
  "form",
  {
    submit: (event: Event) => {
      event.preventDefault();
      void plan();
    },
  },
  dropZone,
  h(
    "div",
    { class: "fields" },
    capacity.element,
    seconds.element,
    sizes.element,
    values.element,
    states.element,
    h(
      "div",
      { class: "field" },
      h("label", { for: "rows", class: "check" }, rows, " Row by row"),
      h("div", { class: "hint" }, "operators in pieces; takes longer"),
    ),
  ),
  h("div", { class: "actions" }, begin, stop, progress, doing),
);

file.addEventListener("change", () => take(file.files));
stop.addEventListener("click", () => {
  setBusy(false);
  status.textContent = "Stopped: there is no plan.";
});
for (const type of ["dragenter", "dragover", "dragleave", "drop"])
  document.addEventListener(type, (event) => {
    event.preventDefault();
    dropZone.classList.toggle("over", type === "dragenter" || type === "dragover");
    if (type === "drop") take((event as DragEvent).dataTransfer?.files);
  });

document
  .getElementById("app")
  ?.append(
    h(
      "header",
      {},
      h("div", {}, h("div", { class: "brand" }, "stowage"), h("h1", {}, "Plan the memory of a model")),
      themeButton(),
    ),
    h(
      "main",
      {},
      h(
        "p",
        { class: "soft" },
        "ONNX, TFLite, graph JSON, lists of buffers, and plans of XLA, ExecuTorch and Vela. ",
        "The file is read and planned in this page: nothing leaves your machine.",
      ),
      h("section", { "aria-label": "What to plan" }, form, status, failure),
      result,
    ),
  );
program.catch((error) => fail(`this browser cannot run the planner: ${error}`));
