import { describe, expect, it } from "vitest";
import { numbersOf, textsOf } from "../src/data";

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
