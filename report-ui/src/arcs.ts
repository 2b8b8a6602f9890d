// Copies between memories, as arcs over the pictures: from the bytes that are read to the bytes that are written.

import type { Theme } from "./colours";
import type { CopyStep, PlanModel } from "./model";
import type { MemoryPicture } from "./picture";
import type { Window2 } from "./raster";

const mostStrong = 60;

export class Arcs {
  readonly canvas = document.createElement("canvas");

  constructor(
    private readonly model: PlanModel,
    private readonly pictures: MemoryPicture[],
  ) {
    this.canvas.className = "arcs";
    this.canvas.setAttribute("aria-hidden", "true");
  }

  private pointOf(buffer: number, at: number, windowOf: (picture: MemoryPicture) => Window2) {
    const { buffers } = this.model.data;
    const picture = this.pictures.find((it) => it.memory.index === buffers.memory[buffer]);
    if (picture === undefined) return null;
    const window = windowOf(picture);
    const { x, y } = picture.pointOf(window, at + 0.5, buffers.offset[buffer] + buffers.size[buffer] / 2);
    return { x: picture.canvas.offsetLeft + x, y: picture.canvas.offsetTop + y };
  }

  draw(
    width: number,
    height: number,
    windowOf: (picture: MemoryPicture) => Window2,
    marked: number[],
    theme: Theme,
  ): void {
    const ratio = globalThis.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d");
    if (context === null || this.pictures.length === 0) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { t0, t1 } = windowOf(this.pictures[0]);
    const shown = this.model.copies.filter((it) => it.at + 1 > t0 && it.at < t1);
    const isMarked = (it: CopyStep) => marked.includes(it.from) || marked.includes(it.to);
    const draw = (copy: CopyStep, colour: string, alpha: number, thick: number) => {
      const from = this.pointOf(copy.from, copy.at, windowOf);
      const to = this.pointOf(copy.to, copy.at, windowOf);
      if (from === null || to === null) return;
      const bulge = Math.min(36, Math.abs(to.y - from.y) / 4);
      // Copies to the faster memory bend to the left, those to the slower one to the right.
      const x = (from.x + to.x) / 2 + (to.y > from.y ? bulge : -bulge);
      const arc = () => {
        context.beginPath();
        context.moveTo(from.x, from.y);
        context.quadraticCurveTo(x, (from.y + to.y) / 2, to.x, to.y);
        context.stroke();
      };
      context.globalAlpha = alpha;
      context.strokeStyle = theme.paper;
      context.lineWidth = thick + 2;
      arc();
      context.strokeStyle = colour;
      context.lineWidth = thick;
      arc();
      const angle = Math.atan2(to.y - (from.y + to.y) / 2, to.x - x);
      context.fillStyle = colour;
      context.beginPath();
      context.moveTo(to.x, to.y);
      for (const side of [-0.4, 0.4])
        context.lineTo(to.x - 9 * Math.cos(angle + side), to.y - 9 * Math.sin(angle + side));
      context.fill();
      context.globalAlpha = 1;
    };
    const isFull = shown.length > mostStrong;
    for (const copy of shown)
      if (!isMarked(copy)) draw(copy, theme.ink, isFull ? 0.35 : 0.8, isFull ? 1 : 1.5);
    for (const copy of shown) if (isMarked(copy)) draw(copy, theme.accent, 1, 2.5);
  }
}
