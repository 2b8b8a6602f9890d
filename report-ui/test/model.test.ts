import { describe, expect, it } from "vitest";
import type { Place } from "../src/data";
import { kindOf } from "../src/difference";
import { columnsOf } from "../src/loads";
import { chosenBuffers, peakRanks } from "../src/look";
import { distinctEnds, labelsOf } from "../src/model";
import { csvOf } from "../src/save";
import { fromHash, initialState, toHash } from "../src/state";
import { type Block, planWith, random } from "./plans";

function blocks(seed: number, count: number): Block[] {
  const next = random(seed);
  return Array.from({ length: count }, (_, i) => {
    const lower = next(40);
    return { name: `b${i}`, lower, upper: lower + 1 + next(9), size: 1 + next(90), offset: 1000 * i };
  });
}
const loadAt = (of: Block[], at: number) =>
  of.filter((it) => it.lower <= at && at < it.upper).reduce((sum, it) => sum + it.size, 0);
const most = (of: Block[]) => Math.max(0, ...Array.from({ length: 60 }, (_, at) => loadAt(of, at)));

describe("live bytes", () => {
  it("are those of a naive sum", () => {
    for (let seed = 0; seed < 30; ++seed) {
      const list = blocks(seed, 25);
      const model = planWith(list);
      const memory = model.memories[0];
      for (let at = 0; at < 55; ++at) {
        expect(model.loadAt(memory, at)).toBe(loadAt(list, at));
        expect(model.aliveAt(memory, at).reduce((sum, it) => sum + it.bytes, 0)).toBe(loadAt(list, at));
      }
      expect(memory.maxLoad).toBe(most(list));
      expect(loadAt(list, memory.peakAt)).toBe(most(list));
      list.forEach((_, b) => {
        expect(model.maxLoadWithout(memory, b)).toBe(most(list.filter((_, k) => k !== b)));
      });
    }
  });
  it("are drawn as the most of each column", () => {
    expect([...columnsOf([0, 1, 2, 3], [5, 9, 1, 0], 0, 4, 4)]).toEqual([5, 9, 1, 0]);
    expect([...columnsOf([0, 1, 2, 3], [5, 9, 1, 0], 0, 4, 2)]).toEqual([9, 1]);
    expect([...columnsOf([0, 1, 2, 3], [5, 9, 1, 0], 1, 2, 3)]).toEqual([9, 9, 9]);
  });
});

describe("pieces", () => {
  it("are found by position and address", () => {
    const model = planWith([
      { name: "a", lower: 2, upper: 4, size: 8, offset: 16 },
      { name: "b", lower: 4, upper: 6, size: 8, offset: 16 },
    ]);
    const memory = model.memories[0];
    expect([1.9, 2, 3.9, 4, 6].map((at) => model.pieceAt(memory, at, 20))).toEqual([-1, 0, 0, 1, -1]);
    expect([15, 16, 23, 24].map((address) => model.pieceAt(memory, 2, address))).toEqual([-1, 0, 0, -1]);
    expect(model.neighbours(1)).toEqual({ before: [0], after: [] });
  });
});

describe("filters", () => {
  it("combine", () => {
    const model = planWith([
      { name: "conv", lower: 0, upper: 2, size: 8, offset: 0 },
      { name: "Conv2", lower: 1, upper: 2, size: 4, offset: 8 },
      { name: "relu", lower: 2, upper: 3, size: 6, offset: 0 },
    ]);
    const ranks = peakRanks(model);
    const chosen = (change: object) => [
      ...chosenBuffers(model, ranks, { ...initialState(3, [12], 1), ...change }),
    ];
    expect(chosen({})).toEqual([1, 1, 1]);
    expect(chosen({ query: "CONV" })).toEqual([1, 1, 0]);
    expect(chosen({ filter: "peak" })).toEqual([1, 1, 0]);
    expect(chosen({ top: 2 })).toEqual([1, 0, 1]);
    expect(chosen({ top: 2, filter: "peak", query: "conv" })).toEqual([1, 0, 0]);
    expect(chosen({ filter: "kind:input" })).toEqual([0, 0, 0]);
  });
});

describe("the hash", () => {
  const initial = initialState(50, [100, 200], 7);
  it("brings a state back", () => {
    const state = {
      ...initial,
      t0: 3.5,
      t1: 20,
      addresses: [
        [0, 50],
        [0, 200],
      ] as [number, number][],
      pin: 3,
      at: 9,
      query: "a&b=c#<ü>",
      filter: "kind:input",
      top: 50,
      colours: "each",
    };
    const hash = `#${toHash(state, initial, "b.").join("&")}`;
    expect(fromHash(hash, initial, "b.", 10)).toEqual(state);
    expect(toHash(initial, initial, "")).toEqual([]);
  });
  it("ignores nonsense", () => {
    for (const hash of ["#t=9~3&pin=99&at=x&top=-1&a0=1", "#%E0%A4%A", "#t=a~b", ""])
      expect(fromHash(hash, initial, "", 10)).toEqual(initial);
  });
});

it("a changed buffer is new, gone, of another size, or elsewhere", () => {
  const at = (size: number, offset: number, memory = "m") => ({ size, offset, memory });
  const kind = (before: Place | null, after: Place | null) => kindOf({ id: "b", before, after });
  expect(kind(null, at(8, 0))).toBe("new");
  expect(kind(at(8, 0), null)).toBe("gone");
  expect(kind(at(8, 0), at(9, 4))).toBe("larger");
  expect(kind(at(8, 0), at(7, 0))).toBe("smaller");
  expect(kind(at(8, 0), at(8, 4))).toBe("other offset");
  expect(kind(at(8, 0), at(8, 0, "n"))).toBe("other memory");
});

it("labels leave out last parts that many names have", () => {
  const names = ["a/one/Relu", "a/two/Relu", "a/three/Relu", "a/four/Relu", "a/five/Add", "Relu"];
  expect(labelsOf(names)).toEqual(["a/one", "a/two", "a/three", "a/four", "a/five/Add", "Relu"]);
  expect(labelsOf(names.slice(2))).toEqual(names.slice(2));
});

it("finds how many last letters distinguish a name", () => {
  const ends = distinctEnds(["a/conv1", "b/conv1", "c2", "conv1", "c2"]);
  expect(Object.fromEntries(ends)).toEqual({ "a/conv1": 7, "b/conv1": 7, c2: 1, conv1: 6 });
  expect(distinctEnds(["one"]).get("one")).toBe(0);
});

describe("the table as CSV", () => {
  it("has the buffers that are chosen, with quotes where names need them", () => {
    const model = planWith([
      { name: 'a,"b"', lower: 0, upper: 2, size: 8, offset: 0 },
      { name: "=1+1", lower: 1, upper: 3, size: 4, offset: 8 },
    ]);
    const lines = csvOf(model, new Uint8Array([1, 1])).split("\n");
    expect(lines[0]).toBe("id,memory,offset,size,lower,upper,kind");
    expect(lines[1].startsWith('"a,""b""",')).toBe(true);
    expect(lines[1]).toContain(",0,8,0,2,");
    expect(lines[2].startsWith("'=1+1,")).toBe(true);
    expect(csvOf(model, new Uint8Array([0, 1])).split("\n").length).toBe(3);
  });
});
