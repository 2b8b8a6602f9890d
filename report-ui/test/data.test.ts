import { describe, expect, it } from "vitest";
import { differenceOf, numbersOf, textsOf } from "../src/data";
import { planWith } from "./plans";

/** As src/report/columns.cc writes them, number by number. */
function written(values: number[]): string {
  const bytes: number[] = [];
  let last = 0n;
  for (const value of values) {
    const difference = BigInt(value) - last;
    last = BigInt(value);
    let rest = difference >= 0n ? 2n * difference : -2n * difference - 1n;
    for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest % 128n) + 128);
    bytes.push(Number(rest));
  }
  return Buffer.from(bytes).toString("base64");
}

describe("columns", () => {
  it("keep every number that a double can hold", () => {
    const values = [
      0,
      -1,
      1,
      63,
      64,
      -64,
      -65,
      8191,
      8192,
      2 ** 31,
      -(2 ** 31),
      2 ** 52,
      3,
      3,
      -(2 ** 52),
      0,
    ];
    expect([...numbersOf(written(values))]).toEqual(values);
    expect([...numbersOf(written(values), values.length)]).toEqual(values);
    expect([...numbersOf("")]).toEqual([]);
  });
  it("read what the program writes", () => {
    expect([...numbersOf("AAEC")]).toEqual([0, -1, 0]);
  });
});

describe("texts", () => {
  it("share begins with the text before", () => {
    expect(textsOf({ shared: written([0, 6, 2, 0]), ends: ["layer/a", "b", "st", "</script>"] })).toEqual([
      "layer/a",
      "layer/b",
      "last",
      "</script>",
    ]);
  });
});

describe("a difference", () => {
  it("names buffers as the plans do, and keeps those of a tensor together", () => {
    const block = (name: string, size: number, offset: number) => ({
      name,
      lower: 0,
      upper: 1,
      size,
      offset,
    });
    const before = planWith([block("x", 64, 0), block("y", 8, 64)]).data;
    const after = planWith([block("x[0]", 16, 0), block("y", 8, 32), block("x[1]", 16, 16)]).data;
    const tensor = {
      name: "x",
      before: { row_blocks: 0, bytes: 64 },
      after: { row_blocks: 2, bytes: 32 },
    };
    const raw = {
      numbers: [],
      counts: "",
      order: "",
      tensors: [tensor],
      entries: { rows: 2, tensor: written([0, -1]), buffers: written([3, 1]) },
      buffers: { rows: 4, before: written([0, -1, -1, 1]), after: written([-1, 0, 2, 1]) },
    };
    const place = (size: number, offset: number) => ({ size, memory: "m0", offset });
    expect(differenceOf(raw, [before, after]).changes).toEqual([
      {
        tensor,
        buffers: [
          { id: "x", before: place(64, 0), after: null },
          { id: "x[0]", before: null, after: place(16, 0) },
          { id: "x[1]", before: null, after: place(16, 16) },
        ],
      },
      { tensor: null, buffers: [{ id: "y", before: place(8, 64), after: place(8, 32) }] },
    ]);
  });
});
