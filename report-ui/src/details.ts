// What is known about one buffer.

import { h, replace } from "./dom";
import { grouped, readable, shortened } from "./format";
import type { PlanModel } from "./model";

const mostTensors = 6;
const mostNeighbours = 3;

function fact(name: string, value: string | Node): Node[] {
  return [h("dt", {}, name), h("dd", {}, value)];
}

function tensorLine(model: PlanModel, t: number): HTMLElement {
  const { tensors, texts } = model.data;
  return h(
    "li",
    {},
    h("span", { class: "name", title: model.tensorName(t) }, shortened(model.tensorName(t), 90)),
    h(
      "span",
      { class: "soft" },
      ` ${texts[tensors.type[t]]} ${texts[tensors.shape[t]]}, ${grouped(tensors.bytes[t])} bytes`,
    ),
  );
}

function neighbourText(model: PlanModel, buffers: number[]): string {
  const names = buffers.slice(0, mostNeighbours).map((b) => shortened(model.nameOf(b), 40));
  const more = buffers.length - names.length;
  return names.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

export function showDetails(
  panel: HTMLElement,
  model: PlanModel,
  buffer: number,
  isPinned: boolean,
  unpin: () => void,
): void {
  if (buffer < 0) {
    replace(
      panel,
      h("p", { class: "soft" }, "Point at a buffer to see what it is. Click to pin it."),
      h(
        "ul",
        { class: "keys" },
        ...[
          ["drag", "move"],
          ["Ctrl + wheel, + −", "zoom"],
          ["Shift + wheel", "zoom time only"],
          ["p", "zoom to the peak"],
          ["0", "whole plan"],
          ["/", "search"],
          [", .", "one step back, on"],
          ["Space", "play"],
        ].map(([key, what]) => h("li", {}, h("kbd", {}, key), ` ${what}`)),
      ),
    );
    return;
  }
  const { buffers, memories } = model.data;
  const tensors = model.tensorsOf(buffer);
  const { before, after } = model.neighbours(buffer);
  const name = model.nameOf(buffer);
  const facts = [
    ...fact("bytes", readable(buffers.size[buffer])),
    ...fact(
      "offset",
      `${grouped(buffers.offset[buffer])}${memories.length > 1 ? ` in ${memories[buffers.memory[buffer]].name}` : ""}`,
    ),
    ...fact("live", `from ${model.lower[buffer]} to ${model.upper[buffer] - 1}`),
    ...fact("written by", model.writer(buffer)),
    ...fact("last read by", model.reader(buffer)),
  ];
  if (model.data.models.length > 1 && tensors.length > 0)
    facts.push(...fact("model", model.data.models[model.modelOf[buffer]].name));
  if (buffers.traffic[buffer] > 0)
    facts.push(...fact("traffic", `${grouped(buffers.traffic[buffer])} bytes`));
  for (const copy of model.copies) {
    const memory = (b: number) => memories[buffers.memory[b]].name;
    if (copy.to === buffer) facts.push(...fact("copied from", `${memory(copy.from)}, at ${copy.at}`));
    if (copy.from === buffer) facts.push(...fact("copied to", `${memory(copy.to)}, at ${copy.at}`));
  }
  if (before.length > 0) facts.push(...fact("used before by", neighbourText(model, before)));
  if (after.length > 0) facts.push(...fact("used after by", neighbourText(model, after)));
  const list = tensors.slice(0, mostTensors).map((t) => tensorLine(model, t));
  if (tensors.length > mostTensors)
    list.push(h("li", { class: "soft" }, `and ${tensors.length - mostTensors} more`));
  replace(
    panel,
    h("h3", { title: name.slice(0, 1000) }, shortened(name, 120)),
    h(
      "p",
      { class: "soft" },
      model.kindOf(buffer),
      isPinned ? " · pinned " : "",
      isPinned && h("button", { type: "button", click: unpin }, "unpin"),
    ),
    h("dl", {}, ...facts),
    tensors.length > 0 &&
      h(
        "p",
        { class: "soft" },
        tensors.length === 1
          ? "It holds:"
          : `${tensors.length} tensors share these bytes, because one repeats or replaces the other:`,
      ),
    tensors.length > 0 && h("ul", { class: "tensors" }, ...list),
  );
}
