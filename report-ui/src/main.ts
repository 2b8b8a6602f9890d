import { differenceOf, planOf, type RawReport } from "./data";
import { differenceSection } from "./difference";
import { h } from "./dom";
import { shortened } from "./format";
import { facts, headline } from "./headline";
import { PlanModel } from "./model";
import { OperatorList } from "./operators";
import { peakSection } from "./peak";
import { PlanView } from "./plan_view";
import { fromHash, toHash } from "./state";
import { themeButton } from "./theme";
import "./style.css";
import "./picture.css";
import "./tables.css";
import "./steps.css";

const begin = performance.now();

function show(app: HTMLElement, report: RawReport): void {
  const models = report.plans.map((raw) => new PlanModel(planOf(raw)));
  const isPair = models.length > 1;
  const prefixes = models.map((_, i) => (isPair ? `${"ab"[i]}.` : ""));
  const views = models.map((model) => {
    // Two plans have one scale, if they have the same memories.
    const highest = (m: number) =>
      Math.max(
        ...models.map((it) =>
          it.data.memories[m]?.name === model.data.memories[m].name ? it.data.memories[m].peak : 0,
        ),
      );
    return new PlanView(model, isPair, highest);
  });
  let used = views[0];
  const lists: OperatorList[] = [];
  const title = isPair ? "Two plans" : shortened(models[0].data.title, 160);
  document.title = `${title} – stowage`;
  const header = h("header", {}, h("div", {}, h("div", { class: "brand" }, "stowage"), h("h1", {}, title)));
  const main = h("main", {});
  const columns = h("div", { class: isPair ? "pair" : "single" });
  if (report.difference !== undefined) {
    const titles = models.map((it) => it.data.title);
    const pick = (name: string) => {
      for (const view of views) view.pinNamed(name);
      columns.scrollIntoView({ block: "nearest", behavior: "smooth" });
    };
    const difference = differenceOf(
      report.difference,
      models.map((it) => it.data),
    );
    main.append(differenceSection(difference, titles, pick));
  }
  main.append(columns);
  models.forEach((model, i) => {
    const label = isPair ? `${"AB"[i]}: ` : "";
    const view = views[i];
    const list = new OperatorList(model, isPair ? ` of ${"AB"[i]}` : "", (at) => view.moveTo(at));
    lists.push(list);
    const pick = (buffer: number) => {
      view.pin(buffer);
      view.element.scrollIntoView({ block: "nearest", behavior: "smooth" });
    };
    const column = h("div", { class: "column" });
    if (isPair)
      column.append(
        h(
          "h2",
          { class: "plan-title", title: model.data.title.slice(0, 1000) },
          `${label}${shortened(model.data.title, 60)}`,
        ),
      );
    column.append(
      headline(model.data),
      h(
        "section",
        { class: "memory-map", "aria-label": "Picture" },
        h("h2", {}, "Addresses by time"),
        view.element,
      ),
      peakSection(model, isPair ? ` in ${"AB"[i]}` : "", pick),
    );
    if (model.data.steps.rows > 0) column.append(list.element);
    column.append(facts(model.data, report.command, report.program));
    column.addEventListener("pointerdown", () => {
      used = view;
    });
    columns.append(column);
  });
  app.append(header, main);

  const readHash = () => {
    views.forEach((view, i) => {
      view.take(fromHash(location.hash, view.initial, prefixes[i], view.model.data.buffers.rows));
      lists[i].show(view.state.at);
    });
  };
  let pending = 0;
  const writeHash = () => {
    window.clearTimeout(pending);
    pending = window.setTimeout(() => {
      const parts = views.flatMap((view, i) => toHash(view.state, view.initial, prefixes[i]));
      // In the frame of a notebook, the page has no address of its own.
      if (location.protocol === "about:") return;
      history.replaceState(
        null,
        "",
        parts.length === 0 ? location.pathname + location.search : `#${parts.join("&")}`,
      );
    }, 200);
  };
  views.forEach((view, i) => {
    view.changed = () => {
      lists[i].show(view.state.at);
      writeHash();
    };
  });
  window.addEventListener("hashchange", readHash);
  readHash();

  header.append(
    themeButton((isDark) => {
      for (const view of views) view.setTheme(isDark);
    }),
  );
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (event.key === " " && target instanceof HTMLButtonElement) return;
    if (used.key(event)) event.preventDefault();
  });
}

function start(): void {
  const app = document.getElementById("app");
  const text = document.getElementById("stowage-data")?.textContent ?? "";
  if (app === null) return;
  try {
    show(app, JSON.parse(text) as RawReport);
  } catch (error) {
    app.append(h("p", { class: "failure", role: "alert" }, `This report cannot be shown: ${String(error)}`));
    throw error;
  }
  requestAnimationFrame(() => {
    document.documentElement.dataset.ready = String(Math.round(performance.now() - begin));
  });
}

start();
