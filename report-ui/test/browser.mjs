// Chromium for the tests of pages, and what they share.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

export const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const failures = [];

export function expect(what, holds) {
  if (!holds) failures.push(what);
}

/** Opens a file; what it logs as an error, or loads from elsewhere, is a failure. */
export async function openFile(
  path,
  { hash = "", colorScheme = "light", prepare = async () => {}, ...options } = {},
) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 1000 }, colorScheme, ...options });
  await prepare(page);
  const address = `file://${path}`;
  page.on("console", (message) => expect(`${path} logs ${message.text()}`, message.type() !== "error"));
  page.on("pageerror", (error) => expect(`${path} throws ${error.message}`, false));
  page.on("request", (request) =>
    expect(
      `${path} loads ${request.url()}`,
      [address, "data:", "blob:", "about:srcdoc"].some((it) => request.url().startsWith(it)),
    ),
  );
  await page.goto(address + hash);
  return page;
}

export async function expectAccessible(page, name) {
  // Playwright evaluates it outside of the page's policy.
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  for (const it of found.violations)
    expect(
      `${name}: ${it.impact} ${it.id} at ${it.nodes[0]?.target.join(" ")}: ${it.nodes[0]?.failureSummary}`,
      !["serious", "critical"].includes(it.impact),
    );
}

export function finish(what) {
  for (const failure of failures) console.error(`${what}: ${failure}`);
  console.log(failures.length === 0 ? `${what} is right` : `${failures.length} failures`);
  process.exit(failures.length === 0 ? 0 : 1);
}
