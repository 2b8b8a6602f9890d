// What the peak is made of, and what would lower it.

import type { Curve, Remedy } from "./data";
import { h } from "./dom";
import { begun, grouped, inUnits, percent, readable, shortened } from "./format";
import { swatch } from "./look";
import type { Alive, MemoryModel, PlanModel } from "./model";

const mostRows = 40;
const mostCompared = 12;

/** "a", "a and b", "a, b and c". */
function listed(words: string[]): string {
  return words.length < 2
    ? words.join("")
    : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

function memoryTable(model: PlanModel, memory: MemoryModel, pick: (buffer: number) => void): HTMLElement {
  const alive = model.aliveAt(memory, memory.peakAt);
  const name = model.data.memories.length > 1 ? ` of ${model.data.memories[memory.index].name}` : "";
  const count = alive.reduce((sum, it) => sum + it.buffers.length, 0);
  const running = model.stepsAt(memory.peakAt).map((s) => model.stepText(s));
  const row = (it: Alive, rank: number) => {
    const buffer = it.buffers[0];
    const isGroup = model.groupOf[buffer] >= model.data.buffers.rows;
    const name = isGroup ? model.groupName(buffer) : model.nameOf(buffer);
    const dot = h("span", { class: "swatch" });
    dot.style.background = swatch(rank);
    const without = rank < mostCompared ? model.maxLoadWithout(memory, model.groupOf[buffer]) : null;
    return h(
      "tr",
      {},
      h(
        "td",
        {},
        h(
          "button",
          { type: "button", class: "link", title: name.slice(0, 1000), click: () => pick(buffer) },
          dot,
          shortened(name, 44),
        ),
        isGroup &&
          h(
            "span",
            { class: "soft" },
            ` ${it.buffers.length} row ${it.buffers.length === 1 ? "block" : "blocks"}`,
          ),
      ),
      h("td", { class: "number" }, grouped(it.bytes)),
      h("td", { class: "number" }, percent(it.bytes, memory.maxLoad)),
      h("td", { class: "kind" }, model.kindOf(buffer)),
      h("td", { class: "operator" }, shortened(model.writer(buffer, !isGroup), 56)),
      h("td", { class: "operator" }, shortened(model.reader(buffer, !isGroup), 56)),
      h("td", { class: "number" }, without === null ? "" : grouped(without)),
    );
  };
  const unused = model.data.memories[memory.index].peak - memory.maxLoad;
  const share = h("div", { class: "share", "aria-hidden": "true" });
  alive.slice(0, mostRows).forEach((it, rank) => {
    const part = h("button", {
      type: "button",
      tabindex: -1,
      title: `${shortened(model.groupName(it.buffers[0]), 80)}: ${inUnits(it.bytes)}`,
      click: () => pick(it.buffers[0]),
    });
    part.style.flexGrow = String(it.bytes);
    part.style.background = swatch(rank);
    share.append(part);
  });
  return h(
    "div",
    {},
    h(
      "p",
      {},
      `The most live bytes${name}, ${readable(memory.maxLoad)}, are at position ${memory.peakAt}`,
      running.length > 0 ? `, where ${listed(running)} ${running.length > 1 ? "run" : "runs"}.` : ".",
      ` ${count} ${count === 1 ? "buffer is" : "buffers are"} alive there${count > alive.length ? `, of ${alive.length} tensors` : ""}.`,
    ),
    unused > 0 &&
      h("p", {}, `The peak is ${readable(unused)} above that: between buffers are bytes that nothing uses.`),
    share,
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": `Buffers at the peak${name}` },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ...["buffer", "bytes", "share", "kind", "from", "to", "live bytes without it"].map((it, i) =>
              h(
                "th",
                { scope: "col", class: [1, 2, 6].includes(i) ? "number" : it === "kind" ? it : "" },
                it,
              ),
            ),
          ),
        ),
        h("tbody", {}, ...alive.slice(0, mostRows).map(row)),
      ),
    ),
    alive.length > mostRows && h("p", { class: "soft" }, `and ${alive.length - mostRows} smaller ones`),
  );
}

interface Group {
  title: string;
  className: string;
  sign: string;
  has: (remedy: Remedy) => boolean;
}
const groups: Group[] = [
  {
    title: "Lowers it: another plan was made",
    className: "found",
    sign: "→",
    has: (it) => it.verdict === "found" && (it.bytes ?? 0) > 0,
  },
  { title: "Could lower it", className: "possible", sign: "?", has: (it) => it.verdict === "possible" },
  { title: "Lowers it already", className: "done", sign: "✓", has: (it) => it.verdict === "done" },
  {
    title: "Cannot lower it: proven",
    className: "impossible",
    sign: "×",
    has: (it) => it.verdict === "impossible",
  },
  {
    title: "Does not lower it: another plan was made",
    className: "impossible",
    sign: "=",
    has: (it) => it.verdict === "found" && (it.bytes ?? 0) <= 0,
  },
];

function figureOf(remedy: Remedy): string {
  if (remedy.bytes === null) return "";
  if (remedy.verdict === "possible") return `at most −${inUnits(remedy.bytes)}`;
  if (remedy.bytes === 0) return "the same";
  return remedy.bytes > 0 ? `−${inUnits(remedy.bytes)}` : `+${inUnits(-remedy.bytes)}`;
}

function remedyItem(remedy: Remedy, group: Group): HTMLElement {
  const figure = figureOf(remedy);
  return h(
    "li",
    { class: group.className },
    h("span", { class: "sign", "aria-hidden": "true" }, group.sign),
    h(
      "div",
      {},
      h(
        "div",
        { class: "remedy-head" },
        h("strong", {}, begun(remedy.what, 400)),
        figure !== "" && h("span", { class: "figure" }, figure),
      ),
      h("p", {}, remedy.why),
      remedy.command !== "" && h("code", { class: "command" }, remedy.command),
    ),
  );
}

function remediesOf(remedies: Remedy[]): HTMLElement {
  const columns = h("div", { class: "remedies" });
  for (const group of groups) {
    const found = remedies.filter(group.has).sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0));
    if (found.length === 0) continue;
    columns.append(
      h("div", {}, h("h3", {}, group.title), h("ul", {}, ...found.map((it) => remedyItem(it, group)))),
    );
  }
  return columns;
}

function curveOf(curve: Curve): HTMLElement {
  const most = Math.max(...curve.points.map((it) => it.bytes), 1);
  return h(
    "div",
    { class: "curve" },
    h("h3", {}, curve.what),
    ...curve.points.map((it) => {
      const bar = h("div", { class: it.is_plan ? "fill" : "fill other" });
      bar.style.width = `${(100 * it.bytes) / most}%`;
      return h(
        "div",
        { class: it.is_plan ? "curve-row now" : "curve-row" },
        h("span", {}, it.value, it.is_plan && " (this plan)"),
        h("div", { class: "bar" }, bar),
        h("span", { class: "number" }, inUnits(it.bytes)),
      );
    }),
  );
}

export function peakSection(model: PlanModel, label: string, pick: (buffer: number) => void): HTMLElement {
  const memories = model.memories.filter(
    (it) => it.pieces.length > 0 && !model.data.memories[it.index].weights,
  );
  const section = h(
    "section",
    { class: "peak" },
    h("h2", {}, `Your peak${label}`),
    ...memories.map((it) => memoryTable(model, it, pick)),
  );
  section.append(h("h2", {}, "What would lower it"));
  section.append(remediesOf(model.data.remedies));
  if (model.data.curves.length > 0)
    section.append(
      h("h2", {}, "What if"),
      h("div", { class: "curves" }, ...model.data.curves.filter((it) => it.points.length > 1).map(curveOf)),
    );
  return section;
}
