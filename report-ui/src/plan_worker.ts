// The planner, in a worker of its own: one question, progress from time to time, one answer. The program is
// src/web/exports.cc; of a system it asks for the time and for random numbers, and there are no files.

import type { Answer, FromWorker, Question } from "./plan_messages";

interface Program {
  memory: WebAssembly.Memory;
  _initialize(): void;
  take(size: number): number;
  plan(bytes: number, bytesSize: number, fields: number, fieldsSize: number): void;
  text(which: number): number;
  text_size(which: number): number;
  figure(which: number): number;
}

const done = 0;
const missing = 8; // EBADF of WASI
const between = 100; // ms from one report of progress to the next

let program: Program;
let shown = Number.NEGATIVE_INFINITY;

const send = (message: FromWorker) => postMessage(message);
const part = (at: number, size: number) => new Uint8Array(program.memory.buffer, at, size);
const textAt = (at: number, size: number) => new TextDecoder().decode(part(at, size));

const system: Record<string, (...values: never[]) => number> = {
  clock_time_get(_clock: number, _precision: bigint, at: number): number {
    new DataView(program.memory.buffer).setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
    return done;
  },
  random_get(at: number, size: number): number {
    crypto.getRandomValues(part(at, size));
    return done;
  },
};

const page = {
  progress(what: number, size: number, fraction: number): void {
    if (performance.now() < shown + between) return;
    shown = performance.now();
    send({ what: textAt(what, size), fraction });
  },
};

function importsOf(module: WebAssembly.Module): WebAssembly.Imports {
  const names = WebAssembly.Module.imports(module).filter((it) => it.module !== "page");
  const functions = Object.fromEntries(names.map((it) => [it.name, system[it.name] ?? (() => missing)]));
  return { page, ...Object.fromEntries(names.map((it) => [it.module, functions])) };
}

/** Puts bytes where the program can read them. */
function give(bytes: Uint8Array): number {
  const at = program.take(Math.max(bytes.length, 1));
  if (at === 0) throw new RangeError("the file needs more memory than this page has");
  part(at, bytes.length).set(bytes);
  return at;
}

async function answer(question: Question): Promise<Answer> {
  const instance = await WebAssembly.instantiate(question.module, importsOf(question.module));
  program = instance.exports as unknown as Program;
  program._initialize();
  const begin = performance.now();
  const { name, capacity, seconds, sizes, values, states, rows } = question;
  const fields = [name, capacity, seconds, sizes, values, states, rows ? "rows" : ""].map(
    (it) => `${it.replaceAll("\0", "")}\0`,
  );
  const given = [new Uint8Array(question.bytes), new TextEncoder().encode(fields.join(""))].map(
    (bytes) => [give(bytes), bytes.length] as const,
  );
  program.plan(...given[0], ...given[1]);
  const [error, notes, report, plan] = [0, 1, 2, 3].map((it) =>
    textAt(program.text(it), program.text_size(it)),
  );
  const [peak, lowerBound] = [0, 1].map((it) => program.figure(it));
  return { error, notes, report, plan, peak, lowerBound, seconds: (performance.now() - begin) / 1000 };
}

/** What the program says by stopping: it has no more memory, or a bug. */
function reasonOf(error: unknown): string {
  return error instanceof RangeError ? error.message : `the planner has stopped, a bug in stowage: ${error}`;
}

addEventListener("message", (event: MessageEvent<Question>) => {
  answer(event.data).then(
    (it) => send({ answer: it }),
    (error) => send({ failure: reasonOf(error) }),
  );
});
