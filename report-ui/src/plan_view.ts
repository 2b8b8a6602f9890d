// The picture of a plan with all that moves it: pictures of its memories, live bytes, toolbar, player, details.

import { Arcs } from "./arcs";
import { type Theme, themeOf } from "./colours";
import { kinds } from "./data";
import { showDetails } from "./details";
import { h } from "./dom";
import { readable } from "./format";
import { LoadCurve } from "./loads";
import { chosenBuffers, coloursOf, peakRanks } from "./look";
import type { PlanModel } from "./model";
import { MemoryPicture } from "./picture";
import { Player } from "./player";
import { csvOf, save, saveText } from "./save";
import { initialState, type State } from "./state";

export class PlanView {
  readonly element: HTMLElement;
  readonly initial: State;
  state: State;
  readonly ranks: Int32Array;
  private readonly pictures: MemoryPicture[];
  private readonly curves: LoadCurve[];
  private readonly arcs: Arcs;
  private readonly panels = h("div", { class: "panels" });
  private readonly details = h("aside", { class: "details", "aria-live": "polite" });
  private readonly search = h("input", {
    type: "search",
    placeholder: "search names",
    "aria-label": "Search names",
    class: "search",
  });
  private readonly found = h("span", { class: "soft", role: "status" });
  private readonly player: Player;
  private colours: { colourOf: Uint32Array; edgeOf: Uint32Array } | null = null;
  private hover = -1;
  private shown = -2;
  private drawPending = false;
  private theme: Theme;
  /** Called when the state changed. */
  changed: () => void = () => {};

  constructor(
    readonly model: PlanModel,
    isNarrow: boolean,
    highest: (memory: number) => number,
  ) {
    const tops = model.data.memories.map((it, m) => {
      const top = Math.max(it.peak, it.lower_bound, highest(m), 1);
      return (it.capacity !== null && it.capacity > top && it.capacity <= 2 * top ? it.capacity : top) * 1.06;
    });
    const main = model.memories[0];
    this.initial = initialState(model.end, tops, main?.peakAt ?? 0);
    this.state = { ...this.initial, addresses: tops.map((top) => [0, top]) };
    this.ranks = peakRanks(model);
    this.theme = themeOf(false);
    const shown = model.memories.filter((it) => it.pieces.length > 0);
    this.pictures = shown.map((it) => new MemoryPicture(model, it));
    this.curves = shown.map((it) => new LoadCurve(model, it));
    this.player = new Player(model, (at) => this.moveTo(at));
    this.arcs = new Arcs(model, this.pictures);
    const { panels } = this;
    this.pictures.forEach((picture, i) => {
      const facts = model.data.memories[picture.memory.index];
      if (shown.length > 1) panels.append(h("h3", {}, facts.name));
      panels.append(picture.canvas, this.curves[i].canvas);
      this.listen(picture);
      this.curves[i].canvas.addEventListener("click", (event) => {
        const found = picture.locate(event.offsetX, 30, this.windowOf(picture));
        if (found !== null) this.moveTo(Math.floor(found.at));
      });
    });
    if (model.copies.length > 0) panels.append(this.arcs.canvas, this.wordsOfCopies());
    this.element = h(
      "div",
      { class: isNarrow ? "plan narrow" : "plan" },
      this.toolbar(),
      h("div", { class: "stage" }, panels, this.details),
      this.player.element,
    );
    new ResizeObserver(() => this.resize()).observe(panels);
  }

  private wordsOfCopies(): HTMLElement {
    const { copies, data } = this.model;
    const bytes = copies.reduce((sum, it) => sum + data.tensors.bytes[it.tensor], 0);
    return h(
      "p",
      { class: "soft legend" },
      `Arcs are copies between memories: ${copies.length} ${copies.length === 1 ? "step copies" : "steps copy"} ${readable(bytes)}.`,
    );
  }

  private windowOf(picture: MemoryPicture) {
    const [a0, a1] = this.state.addresses[picture.memory.index];
    return { t0: this.state.t0, t1: this.state.t1, a0, a1 };
  }

  private select(
    label: string,
    options: [string, string][],
    value: () => string,
    change: (value: string) => void,
  ): HTMLElement {
    const select = h(
      "select",
      { "aria-label": label },
      ...options.map(([name, text]) => h("option", { value: name }, text)),
    );
    select.addEventListener("change", () => change(select.value));
    this.refreshers.push(() => {
      select.value = value();
    });
    return h("label", {}, h("span", {}, label), select);
  }
  private readonly refreshers: (() => void)[] = [];

  private toolbar(): HTMLElement {
    const { data } = this.model;
    const usedKinds = kinds.filter((_, k) => data.buffers.kind.includes(k));
    const filters: [string, string][] = [
      ["all", "all buffers"],
      ["peak", "alive at the peak"],
    ];
    if (usedKinds.length > 1) for (const kind of usedKinds) filters.push([`kind:${kind}`, kind]);
    if (data.models.length > 1)
      data.models.forEach((it, m) => {
        filters.push([`model:${m}`, `model ${it.name}`.slice(0, 60)]);
      });
    const colours: [string, string][] = [
      ["peak", "alive at the peak"],
      ["each", "each buffer"],
      ["kind", "kind"],
    ];
    if (data.models.length > 1) colours.push(["model", "model"]);
    this.search.addEventListener("input", () => this.set({ query: this.search.value }));
    const button = (text: string, title: string, act: () => void) =>
      h("button", { type: "button", title, click: act }, text);
    return h(
      "div",
      { class: "toolbar", role: "toolbar", "aria-label": "Picture" },
      this.search,
      this.found,
      this.select(
        "show",
        filters,
        () => this.state.filter,
        (filter) => this.set({ filter }),
      ),
      this.select(
        "largest",
        [
          ["0", "all sizes"],
          ["10", "10 largest"],
          ["50", "50 largest"],
          ["500", "500 largest"],
        ],
        () => String(this.state.top),
        (top) => this.set({ top: Number(top) }),
      ),
      this.select(
        "colour",
        colours,
        () => this.state.colours,
        (name) => this.set({ colours: name }),
      ),
      h("span", { class: "grow" }),
      button("CSV", "Save the buffers that are shown as a table", () =>
        saveText("buffers.csv", csvOf(this.model, chosenBuffers(this.model, this.ranks, this.state))),
      ),
      button("PNG", "Save the picture", () => this.savePictures()),
      button("Zoom to peak", "p", () => this.zoomToPeak()),
      button("Whole plan", "0", () => this.reset()),
    );
  }

  private savePictures(): void {
    for (const picture of this.pictures) {
      const { name } = this.model.data.memories[picture.memory.index];
      save(this.pictures.length > 1 ? `plan-${name}.png` : "plan.png", picture.canvas.toDataURL("image/png"));
    }
  }

  /** How many buffers a search finds. */
  private showFound(): void {
    const query = this.state.query.trim();
    if (query === "") {
      this.found.textContent = "";
      return;
    }
    const count = chosenBuffers(this.model, this.ranks, this.state).reduce((sum, it) => sum + it, 0);
    this.found.textContent =
      count === 0 ? `no buffer or tensor that is shown has “${query}” in its name` : `${count} found`;
  }

  set(change: Partial<State>): void {
    Object.assign(this.state, change);
    if ("query" in change || "filter" in change || "top" in change || "colours" in change)
      this.colours = null;
    this.redraw();
    this.changed();
  }

  /** Takes a state as a whole. */
  take(state: State): void {
    this.state = state;
    this.search.value = state.query;
    this.colours = null;
    this.redraw();
  }

  moveTo(at: number): void {
    const now = Math.min(Math.max(at, 0), this.model.end - 1);
    const { t0, t1 } = this.state;
    if (now < t0 || now >= t1) {
      const width = t1 - t0;
      this.state.t0 = Math.min(Math.max(now - width / 4, 0), Math.max(this.model.end - width, 0));
      this.state.t1 = this.state.t0 + width;
    }
    this.set({ at: now });
  }

  pin(buffer: number): void {
    this.set({ pin: buffer });
    const lower = this.model.lower[buffer];
    const upper = this.model.upper[buffer];
    if (buffer >= 0 && (upper <= this.state.t0 || lower >= this.state.t1)) this.showTimes(lower, upper);
  }

  /** Pins the buffer of that name, or none. */
  pinNamed(name: string): void {
    const { rows } = this.model.data.buffers;
    let buffer = 0;
    while (buffer < rows && this.model.nameOf(buffer) !== name) ++buffer;
    this.pin(buffer < rows ? buffer : -1);
  }

  private showTimes(lower: number, upper: number): void {
    const margin = Math.max(3, (upper - lower) * 0.6);
    this.set({ t0: Math.max(lower - margin, 0), t1: Math.min(upper + margin, this.model.end) });
  }

  zoomToPeak(): void {
    const memory = this.pictures[0]?.memory;
    if (memory === undefined) return;
    const width = Math.min(this.model.end, Math.max(12, this.model.end / 12));
    const t0 = Math.max(memory.peakAt - width / 2, 0);
    this.set({ t0, t1: Math.min(t0 + width, this.model.end), at: memory.peakAt });
  }

  reset(): void {
    this.set({
      t0: 0,
      t1: this.model.end,
      addresses: this.initial.addresses.map(([low, high]) => [low, high]),
    });
  }

  /** Zooms around a part of the window: 0 is its begin, 1 its end. */
  zoom(picture: MemoryPicture, factor: number, inX: number, inY: number, both: boolean): void {
    const { state } = this;
    const width = Math.min(Math.max((state.t1 - state.t0) * factor, 2), this.model.end);
    const t0 = Math.min(Math.max(state.t0 + inX * (state.t1 - state.t0 - width), 0), this.model.end - width);
    const m = picture.memory.index;
    const addresses = state.addresses.map(([low, high]) => [low, high] as [number, number]);
    if (both) {
      const [low, high] = addresses[m];
      const top = this.initial.addresses[m][1];
      const height = Math.min(Math.max((high - low) * factor, 16), top);
      const a0 = Math.min(Math.max(low + inY * (high - low - height), 0), top - height);
      addresses[m] = [a0, a0 + height];
    }
    this.set({ t0, t1: t0 + width, addresses });
  }

  pan(picture: MemoryPicture, inX: number, inY: number): void {
    const { state } = this;
    const width = state.t1 - state.t0;
    const t0 = Math.min(Math.max(state.t0 - inX * width, 0), this.model.end - width);
    const m = picture.memory.index;
    const addresses = state.addresses.map(([low, high]) => [low, high] as [number, number]);
    const [low, high] = addresses[m];
    const a0 = Math.min(Math.max(low + inY * (high - low), 0), this.initial.addresses[m][1] - (high - low));
    addresses[m] = [a0, a0 + high - low];
    this.set({ t0, t1: t0 + width, addresses });
  }

  private listen(picture: MemoryPicture): void {
    const { canvas } = picture;
    let from: { x: number; y: number; moved: boolean } | null = null;
    const parts = (event: MouseEvent) => {
      const found = picture.locate(event.offsetX, event.offsetY, { t0: 0, t1: 1, a0: 0, a1: 1 });
      return found ?? { at: 0.5, address: 0.5 };
    };
    canvas.addEventListener("pointerdown", (event) => {
      from = { x: event.offsetX, y: event.offsetY, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (from !== null && (from.moved || Math.hypot(event.offsetX - from.x, event.offsetY - from.y) > 4)) {
        this.pan(
          picture,
          (event.offsetX - from.x) / picture.plotWidth,
          (event.offsetY - from.y) / picture.plotHeight,
        );
        from = { x: event.offsetX, y: event.offsetY, moved: true };
        return;
      }
      const found = picture.locate(event.offsetX, event.offsetY, this.windowOf(picture));
      const piece = found === null ? -1 : this.model.pieceAt(picture.memory, found.at, found.address);
      this.setHover(piece < 0 ? -1 : this.model.bufferOf[piece]);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (from !== null && !from.moved) {
        const found = picture.locate(event.offsetX, event.offsetY, this.windowOf(picture));
        this.set({ pin: this.hover, at: found === null ? this.state.at : Math.floor(found.at) });
      }
      from = null;
    });
    canvas.addEventListener("pointerleave", () => this.setHover(-1));
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey && !event.shiftKey && document.activeElement !== canvas) return;
        event.preventDefault();
        const { at, address } = parts(event);
        const turn = event.deltaY === 0 ? event.deltaX : event.deltaY;
        this.zoom(picture, 1.0018 ** turn, at, address, !event.shiftKey);
      },
      { passive: false },
    );
    canvas.addEventListener("dblclick", () => {
      if (this.state.pin >= 0)
        this.showTimes(this.model.lower[this.state.pin], this.model.upper[this.state.pin]);
    });
  }

  private setHover(buffer: number): void {
    if (buffer === this.hover) return;
    this.hover = buffer;
    this.redraw();
  }

  /** Keys for the plan that the reader used last. */
  key(event: KeyboardEvent): boolean {
    const picture = this.pictures.find((it) => it.canvas === document.activeElement) ?? this.pictures[0];
    if (picture === undefined) return false;
    const isPicture = document.activeElement === picture.canvas;
    const keys: Record<string, () => void> = {
      p: () => this.zoomToPeak(),
      "0": () => this.reset(),
      "+": () => this.zoom(picture, 0.7, 0.5, 0.5, true),
      "=": () => this.zoom(picture, 0.7, 0.5, 0.5, true),
      "-": () => this.zoom(picture, 1 / 0.7, 0.5, 0.5, true),
      ",": () => this.moveTo(this.state.at - 1),
      ".": () => this.moveTo(this.state.at + 1),
      "/": () => this.search.focus(),
      " ": () => this.player.toggle(),
      Escape: () => this.set({ pin: -1 }),
    };
    if (isPicture) {
      keys.ArrowLeft = () => this.pan(picture, 0.1, 0);
      keys.ArrowRight = () => this.pan(picture, -0.1, 0);
      keys.ArrowUp = () => this.pan(picture, 0, 0.1);
      keys.ArrowDown = () => this.pan(picture, 0, -0.1);
      keys.Enter = () => {
        const first = this.model.aliveAt(picture.memory, this.state.at)[0];
        if (first !== undefined) this.set({ pin: first.buffers[0] });
      };
    }
    const act = keys[event.key];
    if (act === undefined) return false;
    act();
    return true;
  }

  private resize(): void {
    const width = this.panels.clientWidth;
    for (const picture of this.pictures) {
      picture.width = width;
      picture.height = this.pictures.length === 1 ? 470 : 300;
      picture.canvas.style.height = `${picture.height}px`;
    }
    for (const curve of this.curves) {
      curve.width = width;
      curve.canvas.style.height = `${curve.height}px`;
    }
    this.draw();
  }

  setTheme(isDark: boolean): void {
    this.theme = themeOf(isDark);
    this.colours = null;
    this.draw();
  }

  redraw(): void {
    if (this.drawPending) return;
    this.drawPending = true;
    requestAnimationFrame(() => {
      this.drawPending = false;
      this.draw();
    });
  }

  draw(): void {
    if (this.colours === null) this.showFound();
    this.colours ??= coloursOf(this.model, this.ranks, this.state, this.theme);
    const { state, theme } = this;
    const look = { ...this.colours, theme, hover: this.hover, pin: state.pin, at: state.at };
    for (const picture of this.pictures) if (picture.width > 0) picture.draw(this.windowOf(picture), look);
    for (const curve of this.curves) if (curve.width > 0) curve.draw(state.t0, state.t1, state.at, theme);
    if (this.model.copies.length > 0 && this.panels.clientWidth > 0)
      this.arcs.draw(
        this.panels.clientWidth,
        this.panels.clientHeight,
        (picture) => this.windowOf(picture),
        [this.hover, state.pin],
        theme,
      );
    const shown = this.hover >= 0 ? this.hover : state.pin;
    if (shown !== this.shown) {
      this.shown = shown;
      showDetails(this.details, this.model, shown, shown === state.pin && shown >= 0, () =>
        this.set({ pin: -1 }),
      );
    }
    for (const refresh of this.refreshers) refresh();
    this.player.show(state.at);
  }
}
