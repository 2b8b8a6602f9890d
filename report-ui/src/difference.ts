// What changed from one plan to the other, as `stowage diff` says it.

import type { Change, ChangedBuffer, ChangedTensor, Difference, Place, TensorBuffers } from "./data";
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

/** "9216 as a whole", "8 row blocks, 1536" */
export function tensorText(it: TensorBuffers): string {
  if (it.bytes === 0) return "–";
  if (it.row_blocks === 0) return `${grouped(it.bytes)} as a whole`;
  return `${grouped(it.row_blocks)} row block${it.row_blocks === 1 ? "" : "s"}, ${grouped(it.bytes)}`;
}

export function kindOfTensor({ before, after }: ChangedTensor): string {
  if (before.bytes === 0) return "new";
  if (after.bytes === 0) return "gone";
  if (before.bytes !== after.bytes) return after.bytes > before.bytes ? "larger" : "smaller";
  return before.row_blocks === after.row_blocks ? "moved" : "other row blocks";
}

const mostAtFirst = 200;
const mostAtOnce = 1000;

/** What changed: a row for each entry, of which a part is shown until the button below is pressed. */
class ChangeTable {
  private readonly body = h("tbody", {});
  private readonly more = h("button", { type: "button", class: "more", click: () => this.showMore() });
  private shown = 0;

  constructor(
    private readonly changes: Change[],
    private readonly pick: (name: string) => void,
  ) {
    this.show(mostAtFirst);
  }

  elements(): HTMLElement[] {
    const table = h("table", {}, head(["buffer", "change", "bytes in A", "bytes in B"], 2), this.body);
    const label = "Changed buffers";
    return [
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table),
      this.more,
    ];
  }

  private show(most: number): void {
    const until = Math.min(this.shown + most, this.changes.length);
    this.body.append(...this.changes.slice(this.shown, until).map((it) => this.row(it)));
    this.shown = until;
    this.more.textContent = `and ${grouped(this.changes.length - until)} more`;
    this.more.hidden = until === this.changes.length;
  }

  /** The reader goes on at the first row that is new. */
  private showMore(): void {
    const last = this.body.lastElementChild;
    this.show(mostAtOnce);
    last?.nextElementSibling?.querySelector("button")?.focus();
  }

  private row({ tensor, buffers }: Change): HTMLElement {
    return tensor === null ? this.bufferRow(buffers[0]) : this.tensorRow(tensor, buffers);
  }

  private bufferRow(it: ChangedBuffer, isPart = false): HTMLElement {
    const name = h(
      "button",
      { type: "button", class: "link", title: it.id.slice(0, 1000), click: () => this.pick(it.id) },
      shortened(it.id, 60),
    );
    return cells(name, kindOf(it), placeText(it.before), placeText(it.after), isPart ? "part" : "");
  }

  /** A tensor opens to its buffers. */
  private tensorRow(it: ChangedTensor, buffers: ChangedBuffer[]): HTMLElement {
    let parts: HTMLElement[] = [];
    const name = h(
      "button",
      { type: "button", class: "link opens", title: it.name.slice(0, 1000), "aria-expanded": "false" },
      shortened(it.name, 60),
    );
    const row = cells(name, kindOfTensor(it), tensorText(it.before), tensorText(it.after));
    name.addEventListener("click", () => {
      if (parts.length > 0) {
        for (const part of parts) part.remove();
        parts = [];
      } else {
        parts = buffers.map((buffer) => this.bufferRow(buffer, true));
        row.after(...parts);
      }
      name.setAttribute("aria-expanded", String(parts.length > 0));
    });
    return row;
  }
}

function cells(name: Node, kind: string, before: string, after: string, rowClass = ""): HTMLElement {
  return h(
    "tr",
    { class: rowClass },
    h("td", {}, name),
    h("td", {}, kind),
    h("td", { class: "number" }, before),
    h("td", { class: "number" }, after),
  );
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
      `${difference.changes.length === 0 ? "All buffers are the same" : `Buffers: ${difference.counts}`}. Order of steps: ${difference.order}.`,
    ),
    ...(difference.changes.length > 0 ? new ChangeTable(difference.changes, pick).elements() : []),
  );
}
