// Draws rectangles straight into pixels. Live pieces never overlap, so each pixel is written about once, and the
// cost is the picture's area plus a few steps for each piece, however many there are.

export interface Target {
  pixels: Uint32Array;
  width: number;
  height: number;
}
export interface Window2 {
  t0: number;
  t1: number;
  a0: number;
  a1: number;
}
export interface Pieces {
  lower: Float64Array;
  upper: Float64Array;
  begin: Float64Array;
  size: Float64Array;
}

/** The pixels of a piece: [x0, x1) and [y0, y1), y downwards; at least one pixel if any of it is in the window. */
export function boxOf(
  target: Target,
  window: Window2,
  lower: number,
  upper: number,
  begin: number,
  end: number,
) {
  const sx = target.width / (window.t1 - window.t0);
  const sy = target.height / (window.a1 - window.a0);
  const x0 = Math.round((lower - window.t0) * sx);
  const x1 = Math.max(Math.round((upper - window.t0) * sx), x0 + 1);
  const y1 = target.height - Math.round((begin - window.a0) * sy);
  const y0 = Math.min(target.height - Math.round((end - window.a0) * sy), y1 - 1);
  return { x0, x1, y0, y1 };
}

/** Draws the chosen pieces: the colour of piece p is `colourOf[p]`, its edge `edgeOf[p]`. */
export function rasterise(
  target: Target,
  window: Window2,
  pieces: Pieces,
  chosen: Int32Array,
  bufferOf: Int32Array,
  colourOf: Uint32Array,
  edgeOf: Uint32Array,
): void {
  const { pixels, width, height } = target;
  for (const p of chosen) {
    if (pieces.upper[p] <= window.t0 || pieces.lower[p] >= window.t1) continue;
    const begin = pieces.begin[p];
    if (begin >= window.a1 || begin + pieces.size[p] <= window.a0) continue;
    const box = boxOf(target, window, pieces.lower[p], pieces.upper[p], begin, begin + pieces.size[p]);
    const x0 = Math.min(Math.max(box.x0, 0), width - 1);
    const x1 = Math.min(box.x1, width);
    const y0 = Math.min(Math.max(box.y0, 0), height - 1);
    const y1 = Math.min(box.y1, height);
    const colour = colourOf[bufferOf[p]];
    const edge = edgeOf[bufferOf[p]];
    const isWide = box.x1 - box.x0 >= 4;
    const isHigh = box.y1 - box.y0 >= 4;
    for (let y = y0; y < y1; ++y) {
      const row = y * width;
      const isEdge = isHigh && (y === box.y0 || y === box.y1 - 1);
      const fill = isEdge ? edge : colour;
      // A call costs more than a few pixels.
      if (x1 - x0 > 8) pixels.fill(fill, row + x0, row + x1);
      else for (let x = x0; x < x1; ++x) pixels[row + x] = fill;
      if (!isWide || isEdge) continue;
      if (box.x0 === x0) pixels[row + x0] = edge;
      if (box.x1 === x1) pixels[row + x1 - 1] = edge;
    }
  }
}
