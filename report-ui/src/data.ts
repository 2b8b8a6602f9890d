// Reads the data that src/report/plan_data.cc writes.

/** Numbers as differences to the one before, zigzag, in groups of 7 bits, in base64. */
export function numbersOf(text: string, count?: number): Float64Array {
  const bytes = atob(text);
  let size = count ?? 0;
  if (count === undefined) for (let i = 0; i < bytes.length; ++i) if (bytes.charCodeAt(i) < 128) ++size;
  const numbers = new Float64Array(size);
  let at = 0;
  let last = 0;
  for (let n = 0; n < size; ++n) {
    let byte = bytes.charCodeAt(at++);
    const isNegative = byte % 2 === 1;
    let value = (byte % 128) >> 1;
    let scale = 64;
    while (byte >= 128) {
      byte = bytes.charCodeAt(at++);
      value += (byte % 128) * scale;
      scale *= 128;
    }
    last += isNegative ? -value - 1 : value;
    numbers[n] = last;
  }
  return numbers;
}

/** Texts, each without the letters that it shares with the one before it. */
export function textsOf(data: { shared: string; ends: string[] }): string[] {
  const shared = numbersOf(data.shared, data.ends.length);
  let before = "";
  return data.ends.map((end, i) => {
    before = before.slice(0, shared[i]) + end;
    return before;
  });
}

type RawTable<Name extends string> = { rows: number } & Record<Name, string>;
export type Table<Name extends string> = { rows: number } & Record<Name, Float64Array>;

function tableOf<Name extends string>(raw: RawTable<Name>): Table<Name> {
  const table: Record<string, number | Float64Array> = { rows: raw.rows };
  for (const [name, column] of Object.entries(raw))
    if (typeof column === "string") table[name] = numbersOf(column, raw.rows);
  return table as Table<Name>;
}

export type Verdict = "found" | "done" | "possible" | "impossible";
export interface Remedy {
  verdict: Verdict;
  what: string;
  why: string;
  bytes: number | null;
  command: string;
}
export interface Curve {
  what: string;
  points: { value: string; bytes: number; is_plan: boolean }[];
}
export interface Memory {
  name: string;
  capacity: number | null;
  cost: number;
  weights: boolean;
  peak: number;
  lower_bound: number;
  traffic: number;
  certificate: number[];
}
export interface Model {
  name: string;
  source: string;
  format: string;
  hash: string;
}

interface Facts {
  title: string;
  models: Model[];
  clocks: number;
  interrupted: boolean;
  proof: "plan" | "operators" | "rows" | "offsets" | "memories" | "nothing";
  left_out: string[];
  summary: {
    naive: number;
    peak: number;
    lower_bound: number;
    strategy: string;
    order: string;
    /** With several memories: of all that is read and written, and that of no choice of memories is lower. */
    cost: number;
    cost_bound: number;
  };
  memories: Memory[];
  remedies: Remedy[];
  curves: Curve[];
}

type BufferColumns = "name" | "clock" | "size" | "memory" | "offset" | "kind" | "traffic" | "pieces";
type PieceColumns = "offset" | "size" | "lower" | "upper";
type TensorColumns = "model" | "name" | "kind" | "type" | "shape" | "bytes" | "views";
type ViewColumns = "buffer" | "offset" | "lower" | "upper" | "first" | "last";
type StepColumns = "clock" | "at" | "kind" | "what" | "other" | "first" | "last";
type OperatorColumns = "model" | "subgraph" | "index" | "name" | "type";

export interface RawPlan extends Facts {
  own_loads?: string;
  texts: { shared: string; ends: string[] };
  buffers: RawTable<BufferColumns>;
  pieces: RawTable<PieceColumns>;
  tensors: RawTable<TensorColumns>;
  views: RawTable<ViewColumns>;
  steps: RawTable<StepColumns>;
  operators: RawTable<OperatorColumns>;
}
export interface Place {
  size: number;
  memory: string;
  offset: number;
}
/** A buffer of both plans, or of one; they are the same if their names are. */
export interface ChangedBuffer {
  id: string;
  before: Place | null;
  after: Place | null;
}
/** All buffers of a tensor in one plan; without row blocks, it has one buffer or none. */
export interface TensorBuffers {
  row_blocks: number;
  bytes: number;
}
export interface ChangedTensor {
  name: string;
  before: TensorBuffers;
  after: TensorBuffers;
}
/** A buffer, or a tensor in row blocks with those of its buffers that changed. */
export interface Change {
  tensor: ChangedTensor | null;
  buffers: ChangedBuffer[];
}
interface DifferenceFacts {
  numbers: { name: string; before: number | null; after: number | null }[];
  counts: string;
  order: string;
}
/** What changed is an entry for each tensor in row blocks and each other buffer; -1 is no tensor, and no buffer. */
export interface RawDifference extends DifferenceFacts {
  tensors: ChangedTensor[];
  entries: RawTable<"tensor" | "buffers">;
  buffers: RawTable<"before" | "after">;
}
/** Of two plans, as `stowage diff` says it; what changed most comes first. */
export interface Difference extends DifferenceFacts {
  changes: Change[];
}
export interface RawReport {
  format: "stowage-report";
  version: number;
  program: string;
  command: string;
  plans: RawPlan[];
  difference?: RawDifference;
}

/** The tables of a plan. A buffer's pieces and a tensor's views follow each other; `pieceOf[b]` is the first. */
export interface PlanData extends Facts {
  ownLoads: Float64Array | null;
  texts: string[];
  buffers: Table<BufferColumns>;
  pieces: Table<PieceColumns>;
  tensors: Table<TensorColumns>;
  views: Table<ViewColumns>;
  steps: Table<StepColumns>;
  operators: Table<OperatorColumns>;
}

export function planOf(raw: RawPlan): PlanData {
  return {
    ...raw,
    ownLoads: raw.own_loads === undefined ? null : numbersOf(raw.own_loads),
    texts: textsOf(raw.texts),
    buffers: tableOf(raw.buffers),
    pieces: tableOf(raw.pieces),
    tensors: tableOf(raw.tensors),
    views: tableOf(raw.views),
    steps: tableOf(raw.steps),
    operators: tableOf(raw.operators),
  };
}

/** Buffers are named and placed as the plans, before and after, have them. */
export function differenceOf(raw: RawDifference, plans: PlanData[]): Difference {
  const entries = tableOf(raw.entries);
  const { before, after } = tableOf(raw.buffers);
  const placeIn = ({ buffers, memories }: PlanData, b: number): Place | null =>
    b < 0
      ? null
      : { size: buffers.size[b], memory: memories[buffers.memory[b]].name, offset: buffers.offset[b] };
  const bufferAt = (i: number): ChangedBuffer => {
    const [{ texts, buffers }, b] = before[i] < 0 ? [plans[1], after[i]] : [plans[0], before[i]];
    return {
      id: texts[buffers.name[b]],
      before: placeIn(plans[0], before[i]),
      after: placeIn(plans[1], after[i]),
    };
  };
  let next = 0;
  const changes = Array.from(entries.tensor, (tensor, e) => ({
    tensor: tensor < 0 ? null : raw.tensors[tensor],
    buffers: Array.from({ length: entries.buffers[e] }, () => bufferAt(next++)),
  }));
  return { numbers: raw.numbers, counts: raw.counts, order: raw.order, changes };
}

/** In the order of TensorKind. */
export const kinds = ["input", "output", "weight", "instruction", "temporary", "state", "scratch"] as const;
