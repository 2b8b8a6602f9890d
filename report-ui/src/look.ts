// Which colour each buffer has, and which buffers the reader asked for.

import { darker, palette, pixelOf, type Theme } from "./colours";
import { kinds } from "./data";
import type { PlanModel } from "./model";
import type { State } from "./state";

/** The rank of each buffer's group at the peak of its memory, from 0; -1 if no buffer of it is alive there. */
export function peakRanks(model: PlanModel): Int32Array {
  const rankOf = new Map<number, number>();
  for (const memory of model.memories) {
    model.aliveAt(memory, memory.peakAt).forEach((it, rank) => {
      rankOf.set(model.groupOf[it.buffers[0]], rank);
    });
  }
  return model.groupOf.map((group) => rankOf.get(group) ?? -1);
}

/** Whether each buffer passes filter and search. */
export function chosenBuffers(model: PlanModel, ranks: Int32Array, state: State): Uint8Array {
  const { buffers, texts, tensors } = model.data;
  const chosen = new Uint8Array(buffers.rows).fill(1);
  const query = state.query.trim().toLowerCase();
  const hits = query === "" ? null : texts.map((text) => text.toLowerCase().includes(query));
  const [filter, value] = state.filter.split(":");
  let least = 0;
  if (state.top > 0 && state.top < buffers.rows)
    least = [...buffers.size].sort((a, b) => b - a)[state.top - 1];
  for (let b = 0; b < buffers.rows; ++b) {
    if (buffers.size[b] < least) chosen[b] = 0;
    if (filter === "peak" && ranks[b] < 0) chosen[b] = 0;
    if (filter === "kind" && kinds[buffers.kind[b]] !== value) chosen[b] = 0;
    if (filter === "model" && String(model.modelOf[b]) !== value) chosen[b] = 0;
    if (hits !== null && chosen[b] === 1 && !hits[buffers.name[b]])
      chosen[b] = model.tensorsOf(b).some((t) => hits[tensors.name[t]]) ? 1 : 0;
  }
  return chosen;
}

function groupOf(model: PlanModel, state: State, ranks: Int32Array, b: number): number {
  switch (state.colours) {
    case "kind":
      return model.data.buffers.kind[b];
    case "model":
      return model.modelOf[b];
    case "each":
      return (model.groupOf[b] * 7) % palette.length;
    default:
      return ranks[b];
  }
}

export function coloursOf(
  model: PlanModel,
  ranks: Int32Array,
  state: State,
  theme: Theme,
): { colourOf: Uint32Array; edgeOf: Uint32Array } {
  const rows = model.data.buffers.rows;
  const chosen = chosenBuffers(model, ranks, state);
  const strong = palette.map(pixelOf);
  const rest = theme.rest.map(pixelOf);
  const faint = pixelOf(theme.faint);
  const colourOf = new Uint32Array(rows);
  const edgeOf = new Uint32Array(rows);
  for (let b = 0; b < rows; ++b) {
    const group = groupOf(model, state, ranks, b);
    if (chosen[b] === 0) colourOf[b] = faint;
    else colourOf[b] = group < 0 ? rest[b % rest.length] : strong[group % strong.length];
    edgeOf[b] = chosen[b] === 0 ? pixelOf(theme.line) : darker(colourOf[b], group < 0 ? 0.86 : 0.72);
  }
  return { colourOf, edgeOf };
}

/** The colour of a buffer for tables, as the picture has it by default. */
export function swatch(rank: number): string {
  return palette[rank % palette.length];
}
