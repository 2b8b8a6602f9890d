// Peak, proof, and one bar for each memory against its capacity.

import type { Memory, PlanData } from "./data";
import { h } from "./dom";
import { grouped, inUnits, percent, shortened } from "./format";

function proofOf(data: PlanData): { words: string; isProven: boolean } {
  const { peak, lower_bound } = data.summary;
  if (data.proof === "plan") return { words: "proven optimal", isProven: true };
  if (data.proof === "operators") return { words: "proven optimal for whole operators", isProven: true };
  if (data.proof === "rows")
    return { words: "proven for every order of rows along the axes tried", isProven: true };
  if (data.proof === "offsets") return { words: "proven optimal for this order and sharing", isProven: true };
  if (data.proof === "memories")
    return {
      words: `proven optimal for ${data.steps.rows > 0 ? "this order and " : ""}these memories`,
      isProven: true,
    };
  const gap =
    lower_bound > 0 ? `gap ${((100 * (peak - lower_bound)) / lower_bound).toFixed(2)} %` : "no bound";
  return { words: `${gap}, ${data.interrupted ? "cut short" : "not proven"}`, isProven: false };
}

/** Against the capacity; without one, against the memory that the plan would need if nothing shared bytes. */
function bar(memory: Memory, naive: number, hasOthers: boolean): HTMLElement {
  const whole = Math.max(memory.capacity ?? naive, memory.peak, 1);
  const isOver = memory.capacity !== null && memory.peak > memory.capacity;
  const words =
    memory.capacity === null
      ? `${inUnits(memory.peak)}, no capacity given${naive > 0 ? `; ${percent(memory.peak, naive)} of what it would be without sharing` : ""}`
      : `${inUnits(memory.peak)} of ${inUnits(memory.capacity)}, ${percent(memory.peak, memory.capacity)}${isOver ? `: ${inUnits(memory.peak - memory.capacity)} too many` : ""}`;
  const traffic =
    hasOthers && memory.traffic > 0
      ? `; ${inUnits(memory.traffic)} read and written${memory.cost === 1 ? "" : `, each byte at a cost of ${grouped(memory.cost)}`}`
      : "";
  const fill = h("div", { class: isOver ? "fill over" : "fill" });
  fill.style.width = `${(100 * memory.peak) / whole}%`;
  const bound = h("div", { class: "bound", title: `lower bound ${grouped(memory.lower_bound)} bytes` });
  bound.style.left = `${(100 * Math.min(memory.lower_bound, whole)) / whole}%`;
  const marks = [bound];
  if (isOver && memory.capacity !== null) {
    const limit = h("div", { class: "limit", title: `capacity ${grouped(memory.capacity)} bytes` });
    limit.style.left = `${(100 * memory.capacity) / whole}%`;
    marks.push(limit);
  }
  return h(
    "div",
    { class: "memory" },
    h("div", { class: "memory-words" }, h("strong", {}, memory.name), h("span", {}, words + traffic)),
    h("div", { class: "bar" }, fill, ...marks),
  );
}

/** Of what all memories together cost, and how near the least that is. */
function costOf(data: PlanData): Node[] {
  const { cost, cost_bound } = data.summary;
  if (data.memories.length === 1 || cost === 0) return [];
  return [
    h(
      "div",
      { class: "memory-words" },
      h("strong", {}, "traffic cost"),
      h(
        "span",
        {},
        `${grouped(cost)}, ${cost_bound > 0 ? `no choice of memories has less than ${grouped(cost_bound)}` : "no bound"}`,
      ),
    ),
  ];
}

function card(name: string, value: string, note: string, className = ""): HTMLElement {
  return h(
    "div",
    { class: `card ${className}` },
    h("div", { class: "card-name" }, name),
    h("div", { class: "card-value" }, value),
    h("div", { class: "card-note" }, note),
  );
}

export function headline(data: PlanData): HTMLElement {
  const { summary } = data;
  const proof = proofOf(data);
  const saved = summary.peak > 0 ? summary.naive / summary.peak : 1;
  return h(
    "section",
    { class: "headline", "aria-label": "Result" },
    h(
      "div",
      { class: "cards" },
      card("peak", inUnits(summary.peak), `exactly ${grouped(summary.peak)} bytes`, "main"),
      card("lower bound", inUnits(summary.lower_bound), proof.words, proof.isProven ? "proven" : "open"),
      card("without sharing", inUnits(summary.naive), `${saved.toFixed(saved < 10 ? 1 : 0)} times the peak`),
      card(
        "buffers",
        grouped(data.buffers.rows),
        data.steps.rows > 0 ? `${grouped(data.steps.rows)} steps` : "of a list",
      ),
    ),
    h(
      "div",
      { class: "memories" },
      ...data.memories.map((it) =>
        bar(it, data.memories.length === 1 ? summary.naive : 0, data.memories.length > 1),
      ),
      ...costOf(data),
    ),
  );
}

export function facts(data: PlanData, command: string, program: string): HTMLElement {
  const line = (name: string, value: string | Node) => [h("dt", {}, name), h("dd", {}, value)];
  const list: Node[] = [];
  for (const model of data.models) {
    const hash = model.hash === "" ? "" : `, XXH64 ${model.hash}`;
    list.push(...line("model", `${shortened(model.source, 200)} (${model.format}${hash})`));
  }
  const cut = data.interrupted && data.proof !== "plan" ? ", cut short" : "";
  list.push(...line("found by", `strategy ${data.summary.strategy}, order ${data.summary.order}${cut}`));
  for (const it of data.left_out) list.push(...line("left out", it));
  if (command !== "") list.push(...line("command", h("code", {}, command)));
  if (program !== "") list.push(...line("stowage", program));
  return h("dl", { class: "facts" }, ...list);
}
