type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | ((event: never) => void) | undefined>;

/** An element. Texts become text nodes, so names of tensors cannot become markup. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children)
    if (child !== null && child !== undefined && child !== false)
      element.append(
        String(child) === child ? child : typeof child === "number" ? String(child) : (child as Node),
      );
  return element;
}

export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren(
    ...children.filter((it): it is Node | string => it instanceof Node || typeof it === "string"),
  );
}
