// What a reader takes along: the buffers as CSV, a picture as PNG.

import { h } from "./dom";
import type { PlanModel } from "./model";

/** A field of CSV; a text that a spreadsheet would take for a formula stays a text. */
function field(value: string | number): string {
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The buffers that are chosen, with their places and lives. */
export function csvOf(model: PlanModel, chosen: Uint8Array): string {
  const { buffers, memories } = model.data;
  const lines = ["id,memory,offset,size,lower,upper,kind"];
  for (let b = 0; b < buffers.rows; ++b) {
    if (chosen[b] === 0) continue;
    const memory = memories[buffers.memory[b]]?.name ?? "";
    const row = [model.nameOf(b), memory, buffers.offset[b], buffers.size[b], model.lower[b], model.upper[b]];
    lines.push([...row, model.kindOf(b)].map(field).join(","));
  }
  return `${lines.join("\n")}\n`;
}

/** Saves under a name; no server and no other file is needed. */
export function save(name: string, address: string): void {
  h("a", { href: address, download: name }).click();
}

export function saveText(name: string, text: string): void {
  save(name, `data:text/csv;charset=utf-8,${encodeURIComponent(text)}`);
}
