// The picture of one memory: time to the right, addresses upwards, and the arena at the position beside it.

import { ticks } from "d3-array";
import { scaleLinear } from "d3-scale";
import { pixelOf, type Theme, wantsDarkText } from "./colours";
import { inUnits } from "./format";
import type { MemoryModel, PlanModel } from "./model";
import { boxOf, type Pieces, rasterise, type Target, type Window2 } from "./raster";

export const gutter = { left: 74, right: 92, top: 20, bottom: 22 };
const strip = 68;

export interface Look {
  colourOf: Uint32Array;
  edgeOf: Uint32Array;
  theme: Theme;
  hover: number;
  pin: number;
  at: number;
}

/** Round addresses, in powers of two as memories have them. */
export function addressTicks(low: number, high: number, count: number): number[] {
  const rough = (high - low) / count;
  const step = Math.max(1, 2 ** Math.ceil(Math.log2(Math.max(rough, 1))));
  const marks: number[] = [];
  for (let at = Math.ceil(low / step) * step; at <= high && marks.length < 40; at += step) marks.push(at);
  return marks;
}

export class MemoryPicture {
  readonly canvas = document.createElement("canvas");
  private readonly pieces: Pieces;
  private image: ImageData | null = null;
  private target: Target = { pixels: new Uint32Array(0), width: 0, height: 0 };
  width = 0;
  height = 0;

  constructor(
    readonly model: PlanModel,
    readonly memory: MemoryModel,
  ) {
    const { pieces } = model.data;
    this.pieces = { lower: pieces.lower, upper: pieces.upper, begin: model.begin, size: pieces.size };
    this.canvas.className = "picture";
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    const facts = model.data.memories[memory.index];
    this.canvas.setAttribute(
      "aria-label",
      `Memory ${facts.name}: ${memory.pieces.length} pieces of buffers by time and address; peak ${facts.peak} bytes, ` +
        `most live bytes ${memory.maxLoad} at position ${memory.peakAt}. The tables below have the same data.`,
    );
  }

  get plotWidth(): number {
    return Math.max(this.width - gutter.left - gutter.right, 10);
  }
  get plotHeight(): number {
    return Math.max(this.height - gutter.top - gutter.bottom, 10);
  }

  /** The point of the canvas for a position and an address, at the edge of the plot if they are outside. */
  pointOf(window: Window2, at: number, address: number): { x: number; y: number } {
    const inX = (at - window.t0) / (window.t1 - window.t0);
    const inY = 1 - (address - window.a0) / (window.a1 - window.a0);
    return {
      x: gutter.left + this.plotWidth * Math.min(Math.max(inX, 0), 1),
      y: gutter.top + this.plotHeight * Math.min(Math.max(inY, 0), 1),
    };
  }

  /** Position and address under a point of the canvas; null outside of the plot. */
  locate(x: number, y: number, window: Window2): { at: number; address: number } | null {
    const inX = (x - gutter.left) / this.plotWidth;
    const inY = 1 - (y - gutter.top) / this.plotHeight;
    if (inX < 0 || inX >= 1 || inY < 0 || inY >= 1) return null;
    return {
      at: window.t0 + inX * (window.t1 - window.t0),
      address: window.a0 + inY * (window.a1 - window.a0),
    };
  }

  draw(window: Window2, look: Look): void {
    const ratio = globalThis.devicePixelRatio || 1;
    const width = Math.round(this.width * ratio);
    const height = Math.round(this.height * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    const context = this.canvas.getContext("2d");
    if (context === null) return;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width, height);
    this.drawPieces(context, window, look, ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = "11px system-ui, sans-serif";
    this.drawAxes(context, window, look.theme);
    this.drawLabels(context, window, look);
    this.drawMarked(context, window, look.hover, look.theme.ink, 1.5);
    this.drawMarked(context, window, look.pin, look.theme.accent, 2.5);
    this.drawLevels(context, window, look.theme);
    this.drawStrip(context, window, look);
  }

  private drawPieces(context: CanvasRenderingContext2D, window: Window2, look: Look, ratio: number): void {
    const width = Math.round(this.plotWidth * ratio);
    const height = Math.round(this.plotHeight * ratio);
    if (this.image === null || this.image.width !== width || this.image.height !== height) {
      this.image = new ImageData(width, height);
      this.target = { pixels: new Uint32Array(this.image.data.buffer), width, height };
    }
    this.target.pixels.fill(pixelOf(look.theme.paper));
    rasterise(
      this.target,
      window,
      this.pieces,
      this.memory.pieces,
      this.model.bufferOf,
      look.colourOf,
      look.edgeOf,
    );
    context.putImageData(this.image, Math.round(gutter.left * ratio), Math.round(gutter.top * ratio));
  }

  private boxIn(window: Window2, p: number) {
    const { lower, upper, begin, size } = this.pieces;
    const target = { pixels: this.target.pixels, width: this.plotWidth, height: this.plotHeight };
    return boxOf(target, window, lower[p], upper[p], begin[p], begin[p] + size[p]);
  }

  private drawAxes(context: CanvasRenderingContext2D, window: Window2, theme: Theme): void {
    const y = scaleLinear([window.a0, window.a1], [gutter.top + this.plotHeight, gutter.top]);
    const x = scaleLinear([window.t0, window.t1], [gutter.left, gutter.left + this.plotWidth]);
    context.strokeStyle = theme.line;
    context.strokeRect(gutter.left - 0.5, gutter.top - 0.5, this.plotWidth + 1, this.plotHeight + 1);
    context.fillStyle = theme.soft;
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const at of addressTicks(window.a0, window.a1, this.plotHeight / 42)) {
      context.fillText(at === 0 ? "0" : inUnits(at), gutter.left - 8, y(at));
      context.fillRect(gutter.left - 5, Math.round(y(at)), 4, 1);
    }
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const at of ticks(window.t0, window.t1, this.plotWidth / 90)) {
      if (!Number.isInteger(at)) continue;
      context.fillText(String(at), x(at), gutter.top + this.plotHeight + 7);
      context.fillRect(Math.round(x(at)), gutter.top + this.plotHeight + 1, 1, 4);
    }
  }

  private drawLabels(context: CanvasRenderingContext2D, window: Window2, look: Look): void {
    const letter = 6.1;
    let left = 600;
    const lowest = (13 * (window.a1 - window.a0)) / this.plotHeight;
    const narrowest = (26 * (window.t1 - window.t0)) / this.plotWidth;
    for (const p of this.memory.pieces) {
      const { lower, upper, begin, size } = this.pieces;
      // Most pieces of a large plan have no room for letters.
      if (size[p] < lowest || upper[p] - lower[p] < narrowest) continue;
      if (
        upper[p] <= window.t0 ||
        lower[p] >= window.t1 ||
        begin[p] >= window.a1 ||
        begin[p] + size[p] <= window.a0
      )
        continue;
      const box = this.boxIn(window, p);
      const x0 = Math.max(box.x0, 0);
      const x1 = Math.min(box.x1, this.plotWidth);
      const y0 = Math.max(box.y0, 0);
      const y1 = Math.min(box.y1, this.plotHeight);
      const room = Math.floor((x1 - x0 - 10) / letter);
      if (room < 3 || y1 - y0 < 14) continue;
      const buffer = this.model.bufferOf[p];
      // A few last letters say nothing.
      const label = this.model.labelIn(buffer, room);
      if (room < 7 && label.startsWith("…")) continue;
      const colour = look.colourOf[buffer];
      if (colour === pixelOf(look.theme.faint)) continue;
      context.fillStyle = wantsDarkText(colour) ? "#17202b" : "#ffffff";
      context.textAlign = "left";
      context.textBaseline = "middle";
      const y = gutter.top + (y1 - y0 < 34 ? (y0 + y1) / 2 : y0 + 11);
      context.fillText(label, gutter.left + x0 + 5, y, x1 - x0 - 8);
      const bytes = inUnits(size[p]);
      if (y1 - y0 >= 34 && bytes.length <= room) {
        context.globalAlpha = 0.75;
        context.fillText(bytes, gutter.left + x0 + 5, y + 14);
        context.globalAlpha = 1;
      }
      if (--left === 0) return;
    }
  }

  private drawMarked(
    context: CanvasRenderingContext2D,
    window: Window2,
    buffer: number,
    colour: string,
    width: number,
  ): void {
    if (buffer < 0 || this.model.data.buffers.memory[buffer] !== this.memory.index) return;
    context.save();
    context.beginPath();
    context.rect(gutter.left, gutter.top, this.plotWidth, this.plotHeight);
    context.clip();
    context.strokeStyle = colour;
    context.lineWidth = width;
    for (let p = this.model.firstPiece[buffer]; p < this.model.firstPiece[buffer + 1]; ++p) {
      const box = this.boxIn(window, p);
      context.strokeRect(
        gutter.left + box.x0,
        gutter.top + box.y0,
        Math.max(box.x1 - box.x0, 2),
        Math.max(box.y1 - box.y0, 2),
      );
    }
    context.restore();
  }

  /** Lines of peak, bound and capacity, with their names at the right of the plot. */
  private drawLevels(context: CanvasRenderingContext2D, window: Window2, theme: Theme): void {
    const facts = this.model.data.memories[this.memory.index];
    const levels: [number, string, string][] = [[facts.peak, "peak", theme.peak]];
    if (facts.lower_bound < facts.peak) levels.push([facts.lower_bound, "lower bound", theme.bound]);
    if (facts.capacity !== null) levels.push([facts.capacity, "capacity", theme.soft]);
    context.textAlign = "left";
    for (const [at, name, colour] of levels) {
      if (at < window.a0 || at > window.a1) continue;
      const y = gutter.top + this.plotHeight * (1 - (at - window.a0) / (window.a1 - window.a0));
      context.strokeStyle = colour;
      context.lineWidth = 1.5;
      context.setLineDash(name === "peak" ? [] : name === "capacity" ? [2, 3] : [6, 4]);
      context.beginPath();
      context.moveTo(gutter.left, y);
      context.lineTo(gutter.left + this.plotWidth, y);
      context.stroke();
      context.setLineDash([]);
      context.fillStyle = colour;
      const words = `${name} ${inUnits(at)}`;
      context.font = "600 11px system-ui, sans-serif";
      const x =
        name === "peak"
          ? gutter.left + 4
          : gutter.left + this.plotWidth - context.measureText(words).width - 4;
      // The bound is below the peak, and so is its name.
      context.textBaseline = name === "lower bound" ? "top" : "bottom";
      context.lineWidth = 4;
      context.strokeStyle = theme.paper;
      context.strokeText(words, x, y + (name === "lower bound" ? 3 : -2));
      context.fillText(words, x, y + (name === "lower bound" ? 3 : -2));
      context.font = "11px system-ui, sans-serif";
    }
  }

  /** The line of the position, and the arena at it. */
  private drawStrip(context: CanvasRenderingContext2D, window: Window2, look: Look): void {
    const { lower, upper, begin, size } = this.pieces;
    const { theme, at } = look;
    const x = gutter.left + (this.plotWidth * (at + 0.5 - window.t0)) / (window.t1 - window.t0);
    if (x >= gutter.left && x <= gutter.left + this.plotWidth) {
      context.strokeStyle = theme.ink;
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(Math.round(x) + 0.5, gutter.top - 5);
      context.lineTo(Math.round(x) + 0.5, gutter.top + this.plotHeight);
      context.stroke();
      context.fillStyle = theme.ink;
      context.beginPath();
      context.moveTo(x - 5, gutter.top - 9);
      context.lineTo(x + 6, gutter.top - 9);
      context.lineTo(x + 0.5, gutter.top - 2);
      context.fill();
    }
    const left = this.width - strip - 4;
    context.fillStyle = theme.faint;
    context.fillRect(left, gutter.top, strip, this.plotHeight);
    context.save();
    context.beginPath();
    context.rect(left, gutter.top, strip, this.plotHeight);
    context.clip();
    const height = (bytes: number) => (this.plotHeight * bytes) / (window.a1 - window.a0);
    for (const p of this.memory.pieces) {
      if (lower[p] > at || upper[p] <= at) continue;
      const y = gutter.top + this.plotHeight - height(begin[p] + size[p] - window.a0);
      const colour = look.colourOf[this.model.bufferOf[p]];
      const tall = Math.max(height(size[p]), 1);
      context.fillStyle = `rgb(${colour & 255} ${(colour >>> 8) & 255} ${(colour >>> 16) & 255})`;
      context.fillRect(left, y, strip, tall > 3 ? tall - 1 : tall);
      if (tall < 14) continue;
      context.fillStyle = wantsDarkText(colour) ? "#17202b" : "#ffffff";
      context.textAlign = "left";
      context.textBaseline = "middle";
      context.fillText(this.model.labelIn(this.model.bufferOf[p], 10), left + 4, y + tall / 2, strip - 8);
    }
    context.restore();
    context.strokeStyle = theme.line;
    context.strokeRect(left + 0.5, gutter.top + 0.5, strip - 1, this.plotHeight - 1);
    context.fillStyle = theme.soft;
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillText(`at ${at}`, left + strip / 2, gutter.top - 4);
  }
}
