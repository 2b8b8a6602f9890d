// What the views ask of a plan, from its tables.

import { bisectRight } from "d3-array";
import { kinds, type PlanData } from "./data";
import { shortened } from "./format";

/** One memory: its pieces, and its live bytes as steps: `loads[i]` from `positions[i]` to `positions[i + 1]`. */
export interface MemoryModel {
  index: number;
  pieces: Int32Array;
  positions: Float64Array;
  loads: Float64Array;
  maxLoad: number;
  /** The first position with the most live bytes. */
  peakAt: number;
}

/** Buffers of one group (row blocks of one tensor, or one buffer) and their live bytes; `buffers[0]` has most. */
export interface Alive {
  buffers: number[];
  bytes: number;
}

/** Names without their last parts if at least a tenth of the names, and more than three, end with them. */
export function labelsOf(names: string[]): string[] {
  const lastOf = (name: string) => name.slice(name.lastIndexOf("/") + 1);
  const counts = new Map<string, number>();
  for (const name of names) counts.set(lastOf(name), (counts.get(lastOf(name)) ?? 0) + 1);
  const isCommon = (part: string) => (counts.get(part) ?? 0) > Math.max(3, names.length / 10);
  return names.map((name) => {
    let label = name;
    while (label.includes("/") && isCommon(lastOf(label))) label = label.slice(0, label.lastIndexOf("/"));
    return label;
  });
}

/** How many last letters of each name no other name ends with. */
export function distinctEnds(names: Iterable<string>): Map<string, number> {
  const ends = [...new Set(names)].map((name) => ({ name, end: [...name].reverse().join("") }));
  ends.sort((a, b) => (a.end < b.end ? -1 : a.end > b.end ? 1 : 0));
  const common = (a: string, b: string) => {
    let count = 0;
    while (count < a.length && count < b.length && a[count] === b[count]) ++count;
    return count;
  };
  const found = new Map<string, number>();
  let before = 0;
  ends.forEach(({ name, end }, i) => {
    const after = i + 1 < ends.length ? common(end, ends[i + 1].end) : -1;
    found.set(name, Math.max(i > 0 ? before : -1, after) + 1);
    before = after;
  });
  return found;
}

/** A step that copies a tensor from one buffer to another. */
export interface CopyStep {
  at: number;
  tensor: number;
  from: number;
  to: number;
}

/** Sums changes of live bytes by position. */
export function loadsOf(changes: [number, number][]): { positions: Float64Array; loads: Float64Array } {
  changes.sort((a, b) => a[0] - b[0]);
  const positions: number[] = [];
  const loads: number[] = [];
  let alive = 0;
  for (const [at, change] of changes) {
    alive += change;
    if (positions[positions.length - 1] === at) loads[loads.length - 1] = alive;
    else {
      positions.push(at);
      loads.push(alive);
    }
  }
  return { positions: Float64Array.from(positions), loads: Float64Array.from(loads) };
}

export class PlanModel {
  readonly end: number;
  readonly bufferOf: Int32Array;
  readonly firstPiece: Int32Array;
  readonly begin: Float64Array;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  readonly memories: MemoryModel[];
  readonly tensorOfView: Int32Array;
  readonly modelOf: Int32Array;
  /** Buffers that are row blocks of one tensor have one number, all others have their own. */
  readonly groupOf: Int32Array;
  /** Copies between buffers, by position. */
  readonly copies: CopyStep[];
  private readonly viewsOf: number[][];
  private readonly clockBegin: Int32Array;

  constructor(readonly data: PlanData) {
    const { buffers, pieces, tensors, views, steps } = data;
    this.bufferOf = new Int32Array(pieces.rows);
    this.firstPiece = new Int32Array(buffers.rows + 1);
    this.begin = new Float64Array(pieces.rows);
    this.lower = new Float64Array(buffers.rows).fill(Number.POSITIVE_INFINITY);
    this.upper = new Float64Array(buffers.rows);
    let end = 1;
    for (let b = 0, p = 0; b < buffers.rows; ++b) {
      this.firstPiece[b] = p;
      for (let k = 0; k < buffers.pieces[b]; ++k, ++p) {
        this.bufferOf[p] = b;
        this.begin[p] = buffers.offset[b] + pieces.offset[p];
        this.lower[b] = Math.min(this.lower[b], pieces.lower[p]);
        this.upper[b] = Math.max(this.upper[b], pieces.upper[p]);
      }
      end = Math.max(end, this.upper[b]);
    }
    this.firstPiece[buffers.rows] = pieces.rows;
    this.end = end;
    this.tensorOfView = new Int32Array(views.rows);
    this.viewsOf = Array.from({ length: buffers.rows }, () => []);
    this.modelOf = new Int32Array(buffers.rows);
    this.groupOf = Int32Array.from({ length: buffers.rows }, (_, b) => b);
    for (let t = 0, v = 0; t < tensors.rows; ++t) {
      for (let k = 0; k < tensors.views[t]; ++k, ++v) {
        this.tensorOfView[v] = t;
        if (views.first[v] >= 0) this.groupOf[views.buffer[v]] = buffers.rows + t;
        const of = this.viewsOf[views.buffer[v]];
        if (of.length === 0) this.modelOf[views.buffer[v]] = tensors.model[t];
        of.push(v);
      }
    }
    this.clockBegin = new Int32Array(data.clocks + 1).fill(steps.rows);
    for (let s = steps.rows - 1; s >= 0; --s) this.clockBegin[steps.clock[s]] = s;
    for (let c = data.clocks - 1; c >= 0; --c)
      this.clockBegin[c] = Math.min(this.clockBegin[c], this.clockBegin[c + 1]);
    this.memories = data.memories.map((_, m) => this.memoryOf(m));
    this.copies = this.copiesOf();
  }

  private copiesOf(): CopyStep[] {
    const { steps, tensors, views, buffers } = this.data;
    const firstView = new Int32Array(tensors.rows);
    for (let t = 1; t < tensors.rows; ++t) firstView[t] = firstView[t - 1] + tensors.views[t - 1];
    const copies: CopyStep[] = [];
    for (let s = 0; s < steps.rows; ++s) {
      if (steps.kind[s] !== 1) continue;
      const at = steps.at[s];
      const tensor = steps.what[s];
      const to = steps.other[s];
      let from = -1;
      // Of several places, steps read the one in the fastest memory.
      for (let v = firstView[tensor]; v < firstView[tensor] + tensors.views[tensor]; ++v) {
        const b = views.buffer[v];
        if (b === to || views.lower[v] > at || views.upper[v] <= at) continue;
        if (from < 0 || buffers.memory[b] < buffers.memory[from]) from = b;
      }
      if (from >= 0) copies.push({ at, tensor, from, to });
    }
    return copies.sort((a, b) => a.at - b.at);
  }

  private memoryOf(m: number): MemoryModel {
    const { buffers, pieces } = this.data;
    const own: number[] = [];
    const changes: [number, number][] = [];
    for (let p = 0; p < pieces.rows; ++p) {
      if (buffers.memory[this.bufferOf[p]] !== m) continue;
      own.push(p);
      changes.push([pieces.lower[p], pieces.size[p]], [pieces.upper[p], -pieces.size[p]]);
    }
    const { positions, loads } = loadsOf(changes);
    let most = 0;
    for (let i = 1; i < loads.length; ++i) if (loads[i] > loads[most]) most = i;
    return {
      index: m,
      pieces: Int32Array.from(own),
      positions,
      loads,
      maxLoad: loads[most] ?? 0,
      peakAt: positions[most] ?? 0,
    };
  }

  loadAt(memory: MemoryModel, at: number): number {
    const i = bisectRight(memory.positions, at) - 1;
    return i < 0 ? 0 : memory.loads[i];
  }

  /** Who is alive at a position of a memory, most bytes first. */
  aliveAt(memory: MemoryModel, at: number): Alive[] {
    const { pieces, buffers } = this.data;
    const alive = new Map<number, { bytes: number; buffers: Set<number> }>();
    for (const p of memory.pieces) {
      if (pieces.lower[p] > at || pieces.upper[p] <= at) continue;
      const b = this.bufferOf[p];
      const group = alive.get(this.groupOf[b]) ?? { bytes: 0, buffers: new Set<number>() };
      group.bytes += pieces.size[p];
      group.buffers.add(b);
      alive.set(this.groupOf[b], group);
    }
    return [...alive.values()]
      .map((it) => ({
        bytes: it.bytes,
        buffers: [...it.buffers].sort((a, b) => buffers.size[b] - buffers.size[a]),
      }))
      .sort((a, b) => b.bytes - a.bytes);
  }

  /** The most live bytes of a memory if a group of buffers were not there. */
  maxLoadWithout(memory: MemoryModel, group: number): number {
    const { pieces } = this.data;
    const own: [number, number][] = [];
    for (const p of memory.pieces)
      if (this.groupOf[this.bufferOf[p]] === group)
        own.push([pieces.lower[p], pieces.size[p]], [pieces.upper[p], -pieces.size[p]]);
    const mine = loadsOf(own);
    let most = 0;
    let k = -1;
    for (let i = 0; i < memory.positions.length; ++i) {
      while (k + 1 < mine.positions.length && mine.positions[k + 1] <= memory.positions[i]) ++k;
      most = Math.max(most, memory.loads[i] - (k < 0 ? 0 : mine.loads[k]));
    }
    return most;
  }

  /** The piece at a position and an address, or -1. */
  pieceAt(memory: MemoryModel, at: number, address: number): number {
    const { pieces } = this.data;
    for (const p of memory.pieces) {
      if (
        pieces.lower[p] <= at &&
        at < pieces.upper[p] &&
        this.begin[p] <= address &&
        address < this.begin[p] + pieces.size[p]
      )
        return p;
    }
    return -1;
  }

  nameOf(buffer: number): string {
    const name = this.data.texts[this.data.buffers.name[buffer]];
    return name === "" ? `buffer ${buffer}` : name;
  }
  /** What distinguishes a buffer's name: without last parts, such as "/Relu", that many names have. */
  labelOf(buffer: number): string {
    this.labels ??= labelsOf(Array.from({ length: this.data.buffers.rows }, (_, b) => this.nameOf(b)));
    return this.labels[buffer];
  }
  private labels: string[] | null = null;
  /**
   * A label of at most `most` letters: the name, or its end if no other name has that end, or the operator that writes
   * the buffer, by type and number, or by number alone.
   */
  labelIn(buffer: number, most: number): string {
    const label = this.labelOf(buffer);
    if (label.length <= most) return label;
    this.ends ??= distinctEnds(this.labels ?? []);
    const operator = (this.ends.get(label) ?? 0) < most ? null : this.numberedWriter(buffer);
    if (operator === null) return shortened(label, most);
    return operator.type.length + operator.number.length < most
      ? `${operator.type} ${operator.number}`
      : `#${operator.number}`;
  }
  private ends: Map<string, number> | null = null;
  private numberedWriter(buffer: number): { type: string; number: string } | null {
    const { steps, operators, texts, buffers } = this.data;
    if (steps.rows === 0) return null;
    const step = this.stepAt(buffers.clock[buffer], this.lower[buffer]);
    if (step < 0 || steps.kind[step] !== 0) return null;
    const op = steps.what[step];
    const type = texts[operators.type[op]];
    return type === "" ? null : { type, number: `${operators.index[op]}` };
  }
  tensorName(tensor: number): string {
    const name = tensor < 0 ? "" : this.data.texts[this.data.tensors.name[tensor]];
    return name === "" ? "a tensor without a name" : name;
  }
  /** The name of a buffer's group. */
  groupName(buffer: number): string {
    const tensor = this.groupOf[buffer] - this.data.buffers.rows;
    return tensor < 0 ? this.nameOf(buffer) : this.tensorName(tensor);
  }
  kindOf(buffer: number): string {
    return kinds[this.data.buffers.kind[buffer]] ?? "temporary";
  }

  /** The tensors of a buffer, each once, in the order of their live ranges. */
  tensorsOf(buffer: number): number[] {
    const { views } = this.data;
    const sorted = [...this.viewsOf[buffer]].sort((a, b) => views.lower[a] - views.lower[b]);
    return [...new Set(sorted.map((v) => this.tensorOfView[v]))];
  }

  /** The step of a clock that runs at a position of the axis, or -1. */
  stepAt(clock: number, at: number): number {
    const begin = this.clockBegin[clock];
    const end = this.clockBegin[clock + 1];
    const found = bisectRight(this.data.steps.at, at, begin, end) - 1;
    return found < begin ? -1 : found;
  }

  /** The steps of all clocks that run at a position. */
  stepsAt(at: number): number[] {
    const found: number[] = [];
    for (let c = 0; c < this.data.clocks; ++c) {
      const s = this.stepAt(c, at);
      if (s < 0) continue;
      const { steps } = this.data;
      const isFork = steps.kind[s] === 2 || steps.kind[s] === 5;
      if (!isFork && steps.at[s] === at) found.push(s);
    }
    return found;
  }

  operatorName(op: number): string {
    const { operators, texts } = this.data;
    const type = texts[operators.type[op]];
    const name = texts[operators.name[op]];
    if (type === "" && name === "") return `operator ${operators.index[op]}`;
    return type === "" || name === "" ? `${type}${name}` : `${type} ${name}`;
  }

  private rowsText(step: number): string {
    const { first, last } = this.data.steps;
    if (first[step] < 0) return "";
    return last[step] - first[step] === 1
      ? `, row ${first[step]}`
      : `, rows ${first[step]} to ${last[step] - 1}`;
  }

  stepText(step: number, withRows = true): string {
    if (step < 0) return "—";
    const { steps, models } = this.data;
    const rows = withRows ? this.rowsText(step) : "";
    switch (steps.kind[step]) {
      case 0: {
        const op = steps.what[step];
        const model = models.length > 1 ? `${models[this.data.operators.model[op]]?.name}: ` : "";
        return `${model}${shortened(this.operatorName(op), 80)}${rows}`;
      }
      case 1:
        return `copy of ${shortened(this.tensorName(steps.what[step]), 60)}`;
      case 2:
        return `${steps.other[step]} branches at the same time`;
      case 5:
        return "a pause: other models may run";
      case 3:
        return `arrival of ${shortened(this.tensorName(steps.what[step]), 60)}${rows}`;
      default:
        return `${shortened(this.tensorName(steps.what[step]), 60)} leaves${rows}`;
    }
  }

  /** Who writes a buffer first, and who reads it last, in words. */
  writer(buffer: number, withRows = true): string {
    if (this.data.steps.rows === 0) return `position ${this.lower[buffer]}`;
    const kind = this.kindOf(buffer);
    if (kind === "state") return "the run before";
    if (kind === "input" && this.lower[buffer] === 0) return "the caller";
    return this.stepText(this.stepAt(this.data.buffers.clock[buffer], this.lower[buffer]), withRows);
  }
  reader(buffer: number, withRows = true): string {
    const last = this.upper[buffer] - 1;
    if (this.data.steps.rows === 0) return `position ${last}`;
    const kind = this.kindOf(buffer);
    if (kind === "state") return "the next run";
    if (kind === "output" && this.upper[buffer] >= this.end) return "the caller";
    return this.stepText(this.stepAt(this.data.buffers.clock[buffer], last), withRows);
  }

  /** Other buffers that use bytes of this one at other times: the last before it, and the first after it. */
  neighbours(buffer: number): { before: number[]; after: number[] } {
    const { buffers } = this.data;
    const low = buffers.offset[buffer];
    const high = low + buffers.size[buffer];
    const before: number[] = [];
    const after: number[] = [];
    for (let b = 0; b < buffers.rows; ++b) {
      if (b === buffer || buffers.memory[b] !== buffers.memory[buffer]) continue;
      if (buffers.offset[b] >= high || buffers.offset[b] + buffers.size[b] <= low) continue;
      if (this.upper[b] <= this.lower[buffer]) before.push(b);
      else if (this.lower[b] >= this.upper[buffer]) after.push(b);
    }
    before.sort((a, b) => this.upper[b] - this.upper[a]);
    after.sort((a, b) => this.lower[a] - this.lower[b]);
    return { before, after };
  }
}
