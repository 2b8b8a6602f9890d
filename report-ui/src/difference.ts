// What changed from one plan to the other. Buffers are the same if their names are.

import { h } from "./dom";
import { grouped, inUnits, shortened } from "./format";
import type { PlanModel } from "./model";

export interface Change {
  kind: "gone" | "new" | "larger" | "smaller" | "moved" | "retimed";
  name: string;
  before: number;
  after: number;
}

/** Changed buffers, those whose sizes differ most first. */
export function changesOf(a: PlanModel, b: PlanModel): Change[] {
  const inB = new Map<string, number>();
  for (let i = 0; i < b.data.buffers.rows; ++i) inB.set(b.nameOf(i), i);
  const changes: Change[] = [];
  for (let i = 0; i < a.data.buffers.rows; ++i) {
    const name = a.nameOf(i);
    const j = inB.get(name);
    inB.delete(name);
    const before = a.data.buffers.size[i];
    if (j === undefined) {
      changes.push({ kind: "gone", name, before, after: 0 });
      continue;
    }
    const after = b.data.buffers.size[j];
    if (after !== before) {
      changes.push({ kind: after > before ? "larger" : "smaller", name, before, after });
      continue;
    }
    const place = (model: PlanModel, k: number) =>
      `${model.data.memories[model.data.buffers.memory[k]].name}:${model.data.buffers.offset[k]}`;
    if (place(a, i) !== place(b, j)) changes.push({ kind: "moved", name, before, after });
    else if (a.lower[i] !== b.lower[j] || a.upper[i] !== b.upper[j])
      changes.push({ kind: "retimed", name, before, after });
  }
  for (const [name, j] of inB) changes.push({ kind: "new", name, before: 0, after: b.data.buffers.size[j] });
  const weight = (it: Change) => Math.abs(it.after - it.before);
  return changes.sort((x, y) => weight(y) - weight(x) || y.after - x.after);
}

const words: Record<Change["kind"], string> = {
  gone: "gone",
  new: "new",
  larger: "larger",
  smaller: "smaller",
  moved: "other offset",
  retimed: "other live range",
};
const mostRows = 60;

function signed(value: number): string {
  return `${value > 0 ? "+" : value < 0 ? "−" : "±"}${grouped(Math.abs(value))}`;
}

export function differenceSection(a: PlanModel, b: PlanModel): HTMLElement {
  const changes = changesOf(a, b);
  const counts = Object.entries(words)
    .map(([kind, word]) => ({ word, count: changes.filter((it) => it.kind === kind).length }))
    .filter((it) => it.count > 0);
  const names = [...new Set([...a.data.memories, ...b.data.memories].map((it) => it.name))];
  const peaks: [string, number, number][] = [["peak", a.data.summary.peak, b.data.summary.peak]];
  if (names.length > 1)
    for (const name of names) {
      const of = (model: PlanModel) => model.data.memories.find((it) => it.name === name)?.peak ?? 0;
      peaks.push([`peak of ${name}`, of(a), of(b)]);
    }
  peaks.push(
    ["lower bound", a.data.summary.lower_bound, b.data.summary.lower_bound],
    ["without sharing", a.data.summary.naive, b.data.summary.naive],
  );
  peaks.push(
    ["buffers", a.data.buffers.rows, b.data.buffers.rows],
    ["steps", a.data.steps.rows, b.data.steps.rows],
  );
  const change = b.data.summary.peak - a.data.summary.peak;
  const verdict =
    change === 0
      ? "The peak is the same."
      : `The peak is ${inUnits(Math.abs(change))} ${change < 0 ? "lower" : "higher"}.`;
  return h(
    "section",
    { class: "difference" },
    h("h2", {}, "Difference"),
    h("p", { class: change < 0 ? "verdict better" : change > 0 ? "verdict worse" : "verdict" }, verdict),
    h(
      "table",
      { class: "peaks" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ...["", "A", "B", "B − A"].map((it, i) =>
            it === "" ? h("td", {}) : h("th", { scope: "col", class: i > 0 ? "number" : "" }, it),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        ...peaks.map(([name, x, y]) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, name),
            h("td", { class: "number" }, grouped(x)),
            h("td", { class: "number" }, grouped(y)),
            h("td", { class: "number" }, signed(y - x)),
          ),
        ),
      ),
    ),
    h(
      "p",
      {},
      changes.length === 0
        ? "All buffers are the same."
        : `Buffers: ${counts.map((it) => `${grouped(it.count)} ${it.word}`).join(", ")}.`,
    ),
    changes.length > 0 &&
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Changed buffers" },
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ...["buffer", "change", "bytes in A", "bytes in B"].map((it, i) =>
                h("th", { scope: "col", class: i > 1 ? "number" : "" }, it),
              ),
            ),
          ),
          h(
            "tbody",
            {},
            ...changes
              .slice(0, mostRows)
              .map((it) =>
                h(
                  "tr",
                  {},
                  h("td", { title: it.name.slice(0, 1000) }, shortened(it.name, 60)),
                  h("td", {}, words[it.kind]),
                  h("td", { class: "number" }, grouped(it.before)),
                  h("td", { class: "number" }, grouped(it.after)),
                ),
              ),
          ),
        ),
      ),
    changes.length > mostRows && h("p", { class: "soft" }, `and ${grouped(changes.length - mostRows)} more`),
  );
}
