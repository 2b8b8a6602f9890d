// What the page that plans and its worker tell each other.

/** A file and the fields of the form, as src/web/answer.h takes them. */
export interface Question {
  module: WebAssembly.Module;
  bytes: ArrayBuffer;
  name: string;
  capacity: string;
  seconds: string;
  sizes: string;
  values: string;
  states: string;
  rows: boolean;
}

export interface Answer {
  error: string;
  notes: string;
  report: string;
  plan: string;
  peak: number;
  lowerBound: number;
  seconds: number;
}

export type FromWorker = { what: string; fraction: number } | { answer: Answer } | { failure: string };
