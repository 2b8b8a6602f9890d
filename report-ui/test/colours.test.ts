import { expect, it } from "vitest";
import { palette } from "../src/colours";

type Triple = [number, number, number];

function linearOf(colour: string): Triple {
  const part = (i: number) => {
    const value = Number.parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [part(0), part(1), part(2)];
}

/** L*, a*, b* of linear red, green and blue: distances of about 2 can just be seen. */
function labOf([r, g, b]: Triple): Triple {
  const root = (value: number) => (value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116);
  const x = root((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
  const y = root(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const z = root((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** What eyes without one kind of cones see (Machado, Oliveira, Fernandes 2009). */
const eyes: Record<string, number[][]> = {
  all: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  "no red": [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  "no green": [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  "no blue": [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

it("all eyes tell the colours apart", () => {
  for (const [name, matrix] of Object.entries(eyes)) {
    const seen = palette.map((colour) => {
      const [r, g, b] = linearOf(colour);
      return labOf(matrix.map(([x, y, z]) => Math.min(Math.max(x * r + y * g + z * b, 0), 1)) as Triple);
    });
    for (let i = 0; i < seen.length; ++i)
      for (let j = 0; j < i; ++j) {
        const distance = Math.hypot(...seen[i].map((value, k) => value - seen[j][k]));
        expect(distance, `${palette[i]} and ${palette[j]}, ${name}`).toBeGreaterThan(13);
      }
  }
});
