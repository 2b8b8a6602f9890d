const units = ["KiB", "MiB", "GiB", "TiB"];

/** "54.0 KiB"; below 10 KiB "672 bytes", as the program prints it. */
export function inUnits(bytes: number): string {
  if (Math.abs(bytes) < 10 * 1024) return `${bytes} ${Math.abs(bytes) === 1 ? "byte" : "bytes"}`;
  let value = bytes;
  let unit = -1;
  do {
    value /= 1024;
    ++unit;
  } while (Math.abs(value) >= 10 * 1024 && unit + 1 < units.length);
  return `${value.toFixed(1)} ${units[unit]}`;
}

/** Groups of three digits, with narrow blanks that do not break. */
export function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/** "55 296 bytes (54.0 KiB)": exact, and short for people. */
export function readable(bytes: number): string {
  const rough = inUnits(bytes);
  return rough === `${bytes} bytes` ? rough : `${grouped(bytes)} bytes (${rough})`;
}

export function percent(part: number, whole: number): string {
  if (whole === 0) return "";
  const value = (100 * part) / whole;
  return `${value >= 10 || value === 0 ? value.toFixed(0) : value.toFixed(value >= 1 ? 1 : 2)} %`;
}

/** The begin of a sentence. */
export function begun(text: string, most: number): string {
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}…`;
}

/** The end of a name, which distinguishes long ones. */
export function shortened(name: string, most: number): string {
  const letters = [...name];
  return letters.length <= most ? name : `…${letters.slice(letters.length - most + 1).join("")}`;
}
