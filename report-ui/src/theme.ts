// Light or dark: as the reader's system has it, until the reader wants the other one.

import { h } from "./dom";

/** The button that changes it. `changed` is called at once, and on each change. */
export function themeButton(changed: (isDark: boolean) => void = () => {}): HTMLButtonElement {
  const root = document.documentElement;
  const isDark = () => root.dataset.theme === "dark";
  const set = (wantsDark: boolean) => {
    root.dataset.theme = wantsDark ? "dark" : "light";
    changed(wantsDark);
  };
  const wishesDark = window.matchMedia("(prefers-color-scheme: dark)");
  set(wishesDark.matches);
  wishesDark.addEventListener("change", () => set(wishesDark.matches));
  let before = false;
  window.addEventListener("beforeprint", () => {
    before = isDark();
    set(false);
  });
  window.addEventListener("afterprint", () => set(before));
  return h(
    "button",
    {
      type: "button",
      class: "theme",
      title: "Light or dark",
      "aria-label": "Light or dark",
      click: () => set(!isDark()),
    },
    "◐",
  );
}
