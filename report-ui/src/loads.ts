// Live bytes by position, below the pictures, with the model's own order as a ghost.

import { ticks } from "d3-array";
import type { Theme } from "./colours";
import { inUnits } from "./format";
import type { MemoryModel, PlanModel } from "./model";
import { gutter } from "./picture";

/** The most live bytes in each column of pixels. */
export function columnsOf(
  positions: ArrayLike<number>,
  loads: ArrayLike<number>,
  t0: number,
  t1: number,
  width: number,
): Float64Array {
  const most = new Float64Array(width);
  const scale = width / (t1 - t0);
  for (let i = 0; i < positions.length; ++i) {
    const until = i + 1 < positions.length ? positions[i + 1] : positions[i];
    if (until <= t0 || positions[i] >= t1) continue;
    const x0 = Math.max(Math.floor((positions[i] - t0) * scale), 0);
    const x1 = Math.min(Math.ceil((until - t0) * scale), width);
    for (let x = x0; x < x1; ++x) most[x] = Math.max(most[x], loads[i]);
  }
  return most;
}

export class LoadCurve {
  readonly canvas = document.createElement("canvas");
  width = 0;
  height = 96;

  constructor(
    readonly model: PlanModel,
    readonly memory: MemoryModel,
  ) {
    this.canvas.className = "loads";
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute(
      "aria-label",
      `Live bytes by position; at most ${memory.maxLoad} at position ${memory.peakAt}.`,
    );
  }

  draw(t0: number, t1: number, at: number, theme: Theme): void {
    const ratio = globalThis.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    const context = this.canvas.getContext("2d");
    if (context === null) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const width = Math.max(Math.round(this.width - gutter.left - gutter.right), 10);
    const top = 8;
    const height = this.height - top - 18;
    const own = this.model.data.memories.length === 1 ? this.model.data.ownLoads : null;
    let highest = this.memory.maxLoad;
    if (own !== null) for (const load of own) highest = Math.max(highest, load);
    const y = (bytes: number) => top + height * (1 - bytes / Math.max(highest, 1));
    const columns = columnsOf(this.memory.positions, this.memory.loads, t0, t1, width);
    context.fillStyle = theme.isDark ? "#2a4a7c" : "#bcd0f2";
    for (let x = 0; x < width; ++x)
      context.fillRect(gutter.left + x, y(columns[x]), 1, top + height - y(columns[x]));
    this.outline(context, columns, y, theme.accent, []);
    if (own !== null) {
      const positions = Float64Array.from({ length: own.length + 1 }, (_, i) => i);
      this.outline(context, columnsOf(positions, own, t0, t1, width), y, theme.soft, [4, 3]);
    }
    context.strokeStyle = theme.line;
    context.strokeRect(gutter.left - 0.5, top - 0.5, width + 1, height + 1);
    this.words(context, y, theme, t0, t1, width, top + height, own !== null);
    const x = gutter.left + (width * (at + 0.5 - t0)) / (t1 - t0);
    if (x < gutter.left || x > gutter.left + width) return;
    context.fillStyle = theme.ink;
    context.fillRect(Math.round(x), top, 1, height);
    context.textAlign = "left";
    context.textBaseline = "middle";
    const alive = this.model.loadAt(this.memory, at);
    context.font = "600 11px system-ui, sans-serif";
    context.fillText(inUnits(alive), gutter.left + width + 10, Math.max(y(alive), top + 6));
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = theme.soft;
    context.fillText("live", gutter.left + width + 10, Math.max(y(alive), top + 6) + 14);
  }

  private outline(
    context: CanvasRenderingContext2D,
    columns: Float64Array,
    y: (bytes: number) => number,
    colour: string,
    dash: number[],
  ): void {
    context.strokeStyle = colour;
    context.lineWidth = 1.25;
    context.setLineDash(dash);
    context.beginPath();
    for (let x = 0; x < columns.length; ++x) {
      context.lineTo(gutter.left + x, y(columns[x]));
      context.lineTo(gutter.left + x + 1, y(columns[x]));
    }
    context.stroke();
    context.setLineDash([]);
  }

  private words(
    context: CanvasRenderingContext2D,
    y: (bytes: number) => number,
    theme: Theme,
    t0: number,
    t1: number,
    width: number,
    bottom: number,
    hasOwn: boolean,
  ): void {
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = theme.soft;
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText(inUnits(this.memory.maxLoad), gutter.left - 8, Math.max(y(this.memory.maxLoad), 12));
    context.fillText("0", gutter.left - 8, bottom - 4);
    context.textBaseline = "top";
    context.textAlign = "center";
    for (const at of ticks(t0, t1, width / 90))
      if (Number.isInteger(at))
        context.fillText(String(at), gutter.left + (width * (at - t0)) / (t1 - t0), bottom + 5);
    context.textAlign = "left";
    if (hasOwn) context.fillText("– –  the model's own order", gutter.left + 6, 11);
  }
}
