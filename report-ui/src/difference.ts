// What changed from one plan to the other, as `stowage diff` says it.

import type { ChangedBuffer, Difference, Place } from "./data";
import { h } from "./dom";
import { grouped, inUnits, shortened } from "./format";

function signed(value: number): string {
  return `${value > 0 ? "+" : value < 0 ? "−" : "±"}${grouped(Math.abs(value))}`;
}

function head(names: string[], firstNumber: number): HTMLElement {
  const cells = names.map((it, i) =>
    it === "" ? h("td", {}) : h("th", { scope: "col", class: i >= firstNumber ? "number" : "" }, it),
  );
  return h("thead", {}, h("tr", {}, ...cells));
}

function placeText(it: Place | null): string {
  return it === null ? "–" : `${grouped(it.size)} at ${grouped(it.offset)} of ${shortened(it.memory, 30)}`;
}

export function kindOf(it: ChangedBuffer): string {
  if (it.before === null) return "new";
  if (it.after === null) return "gone";
  if (it.before.size !== it.after.size) return it.after.size > it.before.size ? "larger" : "smaller";
  return it.before.memory === it.after.memory ? "other offset" : "other memory";
}

/** `titles` are those of the plans; `pick` shows a buffer by its name, in all plans that have it. */
export function differenceSection(
  difference: Difference,
  titles: string[],
  pick: (name: string) => void,
): HTMLElement {
  const columns = titles.map((it, i) => `${"AB"[i]}: ${shortened(it, 40)}`);
  const number = (value: number | null) =>
    h("td", { class: "number" }, value === null ? "–" : grouped(value));
  const peak = difference.numbers[0];
  const change = (peak.after ?? 0) - (peak.before ?? 0);
  const verdict =
    change === 0
      ? "The peak is the same."
      : `The peak of B is ${inUnits(Math.abs(change))} ${change < 0 ? "lower" : "higher"}.`;
  const row = (it: ChangedBuffer) =>
    h(
      "tr",
      {},
      h(
        "td",
        {},
        h(
          "button",
          { type: "button", class: "link", title: it.id.slice(0, 1000), click: () => pick(it.id) },
          shortened(it.id, 60),
        ),
      ),
      h("td", {}, kindOf(it)),
      h("td", { class: "number" }, placeText(it.before)),
      h("td", { class: "number" }, placeText(it.after)),
    );
  const more = difference.changed - difference.buffers.length;
  return h(
    "section",
    { class: "difference" },
    h("h2", {}, "Difference"),
    h("p", { class: change < 0 ? "verdict better" : change > 0 ? "verdict worse" : "verdict" }, verdict),
    h(
      "table",
      { class: "peaks" },
      head(["", ...columns, "B − A"], 1),
      h(
        "tbody",
        {},
        ...difference.numbers.map((it) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, it.name),
            number(it.before),
            number(it.after),
            h("td", { class: "number" }, signed((it.after ?? 0) - (it.before ?? 0))),
          ),
        ),
      ),
    ),
    h(
      "p",
      {},
      `${difference.changed === 0 ? "All buffers are the same" : `Buffers: ${difference.counts}`}. Order of steps: ${difference.order}.`,
    ),
    difference.buffers.length > 0 &&
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Changed buffers" },
        h(
          "table",
          {},
          head(["buffer", "change", "bytes in A", "bytes in B"], 2),
          h("tbody", {}, ...difference.buffers.map(row)),
        ),
      ),
    more > 0 && h("p", { class: "soft" }, `and ${grouped(more)} more`),
  );
}
