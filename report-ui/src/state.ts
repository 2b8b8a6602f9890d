// What the reader looks at. It is in the URL's hash, so that a link shows the same.

export interface State {
  t0: number;
  t1: number;
  /** The window of addresses of each memory. */
  addresses: [number, number][];
  pin: number;
  at: number;
  query: string;
  filter: string;
  top: number;
  colours: string;
}

export function initialState(end: number, tops: number[], peakAt: number): State {
  return {
    t0: 0,
    t1: end,
    addresses: tops.map((top) => [0, top]),
    pin: -1,
    at: peakAt,
    query: "",
    filter: "all",
    top: 0,
    colours: "peak",
  };
}

const rounded = (value: number) => String(Math.round(value * 100) / 100);

/** Only what differs from the initial state. */
export function toHash(state: State, initial: State, prefix: string): string[] {
  const parts: string[] = [];
  const add = (name: string, value: string) => parts.push(`${prefix}${name}=${encodeURIComponent(value)}`);
  if (state.t0 !== initial.t0 || state.t1 !== initial.t1)
    add("t", `${rounded(state.t0)}~${rounded(state.t1)}`);
  state.addresses.forEach(([low, high], m) => {
    if (low !== initial.addresses[m][0] || high !== initial.addresses[m][1])
      add(`a${m}`, `${rounded(low)}~${rounded(high)}`);
  });
  if (state.pin >= 0) add("pin", String(state.pin));
  if (state.at !== initial.at) add("at", String(state.at));
  if (state.query !== "") add("q", state.query);
  if (state.filter !== initial.filter) add("f", state.filter);
  if (state.top !== initial.top) add("top", String(state.top));
  if (state.colours !== initial.colours) add("c", state.colours);
  return parts;
}

function range(text: string | null): [number, number] | null {
  const parts = (text ?? "").split("~").map(Number);
  return parts.length === 2 && parts.every(Number.isFinite) && parts[0] < parts[1]
    ? [parts[0], parts[1]]
    : null;
}

/** The state of a hash; what is missing or wrong in it is as in the initial state. */
export function fromHash(hash: string, initial: State, prefix: string, buffers: number): State {
  let given: URLSearchParams;
  try {
    given = new URLSearchParams(hash.replace(/^#/, ""));
  } catch {
    return { ...initial };
  }
  const text = (name: string) => given.get(prefix + name);
  const number = (name: string, least: number, most: number, otherwise: number) => {
    const value = Number(text(name) ?? Number.NaN);
    return Number.isInteger(value) && value >= least && value <= most ? value : otherwise;
  };
  const times = range(text("t")) ?? [initial.t0, initial.t1];
  return {
    t0: times[0],
    t1: times[1],
    addresses: initial.addresses.map((window, m) => range(text(`a${m}`)) ?? [window[0], window[1]]),
    pin: number("pin", 0, buffers - 1, -1),
    at: number("at", 0, initial.t1, initial.at),
    query: text("q") ?? "",
    filter: text("f") ?? initial.filter,
    top: number("top", 0, 1e9, 0),
    colours: text("c") ?? initial.colours,
  };
}
