// Runs through the positions of a plan: step, pause, speed.

import { h } from "./dom";
import type { PlanModel } from "./model";

export class Player {
  readonly element: HTMLElement;
  private readonly slider: HTMLInputElement;
  private readonly words = h("output", { class: "running" });
  private readonly button: HTMLButtonElement;
  private readonly speed: HTMLSelectElement;
  private isPlaying = false;
  private at = 0;
  private exact = 0;
  private last = 0;

  constructor(
    private readonly model: PlanModel,
    private readonly move: (at: number) => void,
  ) {
    this.slider = h("input", {
      type: "range",
      min: 0,
      max: model.end - 1,
      value: 0,
      "aria-label": "Position",
    });
    this.slider.addEventListener("input", () => move(Number(this.slider.value)));
    this.button = h("button", { type: "button", class: "play", click: () => this.toggle() }, "▶ Play");
    this.speed = h(
      "select",
      { "aria-label": "Steps in a second" },
      ...[2, 10, 50, 250, 1000].map((it) => h("option", { value: it }, `${it} steps/s`)),
    );
    this.speed.value = model.end > 5000 ? "250" : model.end > 500 ? "50" : "10";
    const step = (text: string, title: string, by: number) =>
      h("button", { type: "button", title, "aria-label": title, click: () => move(this.at + by) }, text);
    this.element = h(
      "div",
      { class: "player" },
      this.button,
      step("‹", "One step back", -1),
      step("›", "One step on", 1),
      this.speed,
      this.slider,
      this.words,
    );
  }

  toggle(): void {
    this.isPlaying = !this.isPlaying;
    this.button.textContent = this.isPlaying ? "❚❚ Pause" : "▶ Play";
    if (!this.isPlaying) return;
    if (this.at >= this.model.end - 1) this.move(0);
    this.exact = this.at;
    this.last = performance.now();
    requestAnimationFrame((now) => this.frame(now));
  }

  private frame(now: number): void {
    if (!this.isPlaying) return;
    this.exact += ((now - this.last) / 1000) * Number(this.speed.value);
    this.last = now;
    const at = Math.min(Math.floor(this.exact), this.model.end - 1);
    if (at !== this.at) this.move(at);
    if (at >= this.model.end - 1) this.toggle();
    else requestAnimationFrame((next) => this.frame(next));
  }

  show(at: number): void {
    if (Math.abs(at - this.exact) > 1) this.exact = at;
    this.at = at;
    this.slider.value = String(at);
    const running = this.model.stepsAt(at).map((s) => this.model.stepText(s));
    this.words.textContent = `position ${at}${running.length > 0 ? `: ${running.join(" | ")}` : ""}`;
  }
}
