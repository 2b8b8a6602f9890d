// Steps in the plan's order, with what each allocates and frees. Only the visible rows exist.

import { h, replace } from "./dom";
import { grouped, inUnits, shortened } from "./format";
import type { PlanModel } from "./model";

const rowHeight = 30;
const mostNames = 3;

export class OperatorList {
  readonly element: HTMLElement;
  private readonly viewport: HTMLElement;
  private readonly rows: HTMLElement;
  private readonly order: Int32Array;
  private readonly born: Map<number, number[]> = new Map();
  private readonly gone: Map<number, number[]> = new Map();
  private at = -1;
  private readonly largest: number;

  constructor(
    private readonly model: PlanModel,
    label: string,
    private readonly pick: (at: number) => void,
  ) {
    const { steps, buffers } = model.data;
    this.order = Int32Array.from({ length: steps.rows }, (_, s) => s).sort(
      (a, b) => steps.at[a] - steps.at[b] || a - b,
    );
    for (let b = 0; b < buffers.rows; ++b) {
      const add = (map: Map<number, number[]>, clock: number, at: number) => {
        const step = model.stepAt(clock, at);
        const found = map.get(step);
        if (found === undefined) map.set(step, [b]);
        else found.push(b);
      };
      if (buffers.pieces[b] === 0) continue;
      add(this.born, buffers.clock[b], model.lower[b]);
      add(this.gone, buffers.clock[b], model.upper[b] - 1);
    }
    this.largest = model.memories.reduce(
      (sum, it) => sum + (model.data.memories[it.index].weights ? 0 : it.maxLoad),
      1,
    );
    this.rows = h("div", { class: "steps-rows" });
    this.rows.style.height = `${this.order.length * rowHeight}px`;
    this.viewport = h(
      "div",
      { class: "steps-viewport", tabindex: 0, role: "region", "aria-label": "Steps" },
      this.rows,
    );
    this.viewport.style.height = `${Math.min(this.order.length * rowHeight + 2, 390)}px`;
    this.viewport.addEventListener("scroll", () => this.draw());
    this.element = h(
      "section",
      { class: "steps" },
      h("h2", {}, `Steps${label}`),
      h(
        "div",
        { class: "step step-head", "aria-hidden": "true" },
        ...["position", "runs", "allocates", "frees after it", "live bytes"].map((it) => h("span", {}, it)),
      ),
      this.viewport,
    );
    new ResizeObserver(() => this.draw()).observe(this.viewport);
  }

  private names(buffers: number[] | undefined, sign: string): HTMLElement {
    if (buffers === undefined) return h("span", {});
    const sum = buffers.reduce((total, b) => total + this.model.data.buffers.size[b], 0);
    const names = buffers.slice(0, mostNames).map((b) => shortened(this.model.labelOf(b), 18));
    const more = buffers.length - names.length;
    return h(
      "span",
      {
        title: buffers
          .slice(0, 20)
          .map((b) => shortened(this.model.nameOf(b), 80))
          .join("\n"),
      },
      h("b", { class: sign === "+" ? "plus" : "minus" }, `${sign}${inUnits(sum)} `),
      names.join(", ") + (more > 0 ? ` and ${more} more` : ""),
    );
  }

  private row(index: number): HTMLElement {
    const s = this.order[index];
    const { steps } = this.model.data;
    const at = steps.at[s];
    const live = this.model.memories.reduce(
      (sum, it) => sum + (this.model.data.memories[it.index].weights ? 0 : this.model.loadAt(it, at)),
      0,
    );
    const meter = h("i", { class: "meter" });
    meter.style.width = `${Math.min(100, (100 * live) / this.largest)}%`;
    const row = h(
      "button",
      { type: "button", class: at === this.at ? "step now" : "step", click: () => this.pick(at) },
      h("span", { class: "number" }, grouped(at)),
      h("span", { title: this.model.stepText(s) }, this.model.stepText(s)),
      this.names(this.born.get(s), "+"),
      this.names(this.gone.get(s), "−"),
      h("span", { class: "live" }, h("i", { class: "gauge" }, meter), h("span", {}, inUnits(live))),
    );
    row.style.top = `${index * rowHeight}px`;
    return row;
  }

  private draw(): void {
    const first = Math.max(Math.floor(this.viewport.scrollTop / rowHeight) - 3, 0);
    const count = Math.ceil(this.viewport.clientHeight / rowHeight) + 6;
    const shown: HTMLElement[] = [];
    for (let i = first; i < Math.min(first + count, this.order.length); ++i) shown.push(this.row(i));
    replace(this.rows, ...shown);
  }

  /** Marks the step at a position; scrolls to it if it is out of sight. */
  show(at: number): void {
    if (at === this.at) return;
    this.at = at;
    const index = this.order.findIndex((s) => this.model.data.steps.at[s] >= at);
    const top = index * rowHeight;
    const { scrollTop, clientHeight } = this.viewport;
    if (index >= 0 && (top < scrollTop || top + rowHeight > scrollTop + clientHeight))
      this.viewport.scrollTop = Math.max(top - clientHeight / 2, 0);
    this.draw();
  }
}
