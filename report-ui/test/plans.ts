import type { PlanData } from "../src/data";
import { PlanModel } from "../src/model";

export interface Block {
  name: string;
  lower: number;
  upper: number;
  size: number;
  offset: number;
  memory?: number;
}

function table(rows: number, columns: Record<string, number[]>) {
  return {
    rows,
    ...Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, Float64Array.from(values)])),
  };
}

/** A plan of a list of blocks, in one memory or two. */
export function planWith(blocks: Block[], memories = 1): PlanModel {
  const peak = (m: number) =>
    Math.max(0, ...blocks.filter((it) => (it.memory ?? 0) === m).map((it) => it.offset + it.size));
  const zeros = blocks.map(() => 0);
  const data = {
    title: "list",
    models: [],
    clocks: 1,
    interrupted: false,
    proof: "nothing",
    left_out: [],
    summary: {
      naive: 0,
      peak: peak(0),
      lower_bound: 0,
      strategy: "by-hand",
      order: "keep",
      cost: 0,
      cost_bound: 0,
    },
    memories: Array.from({ length: memories }, (_, m) => ({
      name: `m${m}`,
      capacity: null,
      cost: 1,
      weights: false,
      peak: peak(m),
      lower_bound: 0,
      traffic: 0,
      certificate: [],
    })),
    remedies: [],
    curves: [],
    ownLoads: null,
    texts: blocks.map((it) => it.name),
    buffers: table(blocks.length, {
      name: blocks.map((_, b) => b),
      clock: zeros,
      size: blocks.map((it) => it.size),
      memory: blocks.map((it) => it.memory ?? 0),
      offset: blocks.map((it) => it.offset),
      kind: blocks.map(() => 4),
      traffic: zeros,
      pieces: blocks.map(() => 1),
    }),
    pieces: table(blocks.length, {
      offset: zeros,
      size: blocks.map((it) => it.size),
      lower: blocks.map((it) => it.lower),
      upper: blocks.map((it) => it.upper),
    }),
    tensors: table(0, { model: [], name: [], kind: [], type: [], shape: [], bytes: [], views: [] }),
    views: table(0, { buffer: [], offset: [], lower: [], upper: [], first: [], last: [] }),
    steps: table(0, { clock: [], at: [], kind: [], what: [], other: [], first: [], last: [] }),
    operators: table(0, { model: [], subgraph: [], index: [], name: [], type: [] }),
  };
  return new PlanModel(data as unknown as PlanData);
}

/** Numbers that are the same in every run. */
export function random(seed: number): (below: number) => number {
  let state = seed + 1;
  return (below) => {
    state = (state * 48271) % 2147483647;
    return state % below;
  };
}
