// Colours that stay different for eyes that lack red, green or blue: a test computes what such eyes see.

export const palette = [
  "#4477aa",
  "#ee7733",
  "#009988",
  "#8033cc",
  "#8c381c",
  "#7ee6e6",
  "#e6b27e",
  "#ee3377",
  "#543d99",
  "#987ee6",
];

export interface Theme {
  isDark: boolean;
  paper: string;
  ink: string;
  soft: string;
  line: string;
  rest: string[];
  faint: string;
  peak: string;
  bound: string;
  accent: string;
}

const light: Theme = {
  isDark: false,
  paper: "#ffffff",
  ink: "#17202b",
  soft: "#5a6675",
  line: "#e3e8ee",
  rest: ["#cfd8e3", "#c3cedb", "#d9e0e9", "#b9c6d6"],
  faint: "#f0f3f6",
  peak: "#c0392b",
  bound: "#1b7f5b",
  accent: "#275fca",
};
const dark: Theme = {
  isDark: true,
  paper: "#12171e",
  ink: "#e8edf3",
  soft: "#9aa7b6",
  line: "#26303b",
  rest: ["#334050", "#3b495a", "#2d3846", "#435264"],
  faint: "#1a212a",
  peak: "#ff7b6b",
  bound: "#57d3a4",
  accent: "#7aa7ff",
};

export function themeOf(isDark: boolean): Theme {
  return isDark ? dark : light;
}

/** "#rrggbb" as a pixel of ImageData on a machine whose lowest byte comes first. */
export function pixelOf(colour: string): number {
  const value = Number.parseInt(colour.slice(1), 16);
  return ((255 << 24) | ((value & 255) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

/** The pixel with its colours nearer to black (factor below 1). */
export function darker(pixel: number, factor: number): number {
  const part = (shift: number) => Math.round(((pixel >>> shift) & 255) * factor) << shift;
  return ((255 << 24) | part(16) | part(8) | part(0)) >>> 0;
}

/** Whether dark letters are easier to read on a colour than light ones. */
export function wantsDarkText(pixel: number): boolean {
  return 0.299 * (pixel & 255) + 0.587 * ((pixel >>> 8) & 255) + 0.114 * ((pixel >>> 16) & 255) > 140;
}
