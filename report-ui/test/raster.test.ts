import { describe, expect, it } from "vitest";
import { addressTicks } from "../src/picture";
import { rasterise, type Target } from "../src/raster";
import { random } from "./plans";

const ground = 7;

/** Asks for each pixel which piece covers it, one unit of time and address for each pixel. */
describe("pixels", () => {
  it("are those of the piece that covers them", () => {
    for (let seed = 0; seed < 20; ++seed) {
      const next = random(seed);
      const count = 12;
      // Pieces side by side in columns, so that none overlap.
      const lower = Float64Array.from({ length: count }, (_, i) => i * 5);
      const upper = lower.map((from) => from + 1 + next(5));
      const begin = Float64Array.from({ length: count }, () => next(20));
      const size = Float64Array.from({ length: count }, () => 1 + next(20));
      const t0 = next(20);
      const a0 = next(10);
      const target: Target = { pixels: new Uint32Array(30 * 16).fill(ground), width: 30, height: 16 };
      const all = Int32Array.from({ length: count }, (_, i) => i);
      rasterise(
        target,
        { t0, t1: t0 + 30, a0, a1: a0 + 16 },
        { lower, upper, begin, size },
        all,
        all,
        Uint32Array.from(all, (p) => 100 + p),
        Uint32Array.from(all, (p) => 100 + p),
      );
      for (let y = 0; y < 16; ++y) {
        for (let x = 0; x < 30; ++x) {
          const at = t0 + x;
          const address = a0 + 15 - y;
          const p = all.find(
            (it) =>
              lower[it] <= at && at < upper[it] && begin[it] <= address && address < begin[it] + size[it],
          );
          expect(target.pixels[y * 30 + x]).toBe(p === undefined ? ground : 100 + p);
        }
      }
    }
  });
  it("show pieces that are smaller than a pixel", () => {
    const target: Target = { pixels: new Uint32Array(4).fill(ground), width: 2, height: 2 };
    const one = Int32Array.of(0);
    rasterise(
      target,
      { t0: 0, t1: 1000, a0: 0, a1: 1000 },
      {
        lower: Float64Array.of(10),
        upper: Float64Array.of(11),
        begin: Float64Array.of(0),
        size: Float64Array.of(1),
      },
      one,
      one,
      Uint32Array.of(1),
      Uint32Array.of(2),
    );
    expect([...target.pixels]).toEqual([ground, ground, 1, ground]);
  });
});

describe("marks", () => {
  it("are at round addresses", () => {
    expect(addressTicks(0, 4096, 4)).toEqual([0, 1024, 2048, 3072, 4096]);
    expect(addressTicks(100, 140, 4)).toEqual([112, 128]);
    expect(addressTicks(0, 1, 8)).toEqual([0, 1]);
  });
});
