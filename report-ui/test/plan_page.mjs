// Opens the page that plans in Chromium and uses it as a reader would, offline, from a file.
//   node test/plan_page.mjs PAGE PROGRAM EXAMPLES DATA [SCREENSHOTS]
// PROGRAM plans the same files: where its peak is proven, the page shows the same. DATA may be missing.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { browser, expect, expectAccessible, finish, openFile } from "./browser.mjs";

const [address, program, examples, data, pictures] = process.argv.slice(2).map((it) => resolve(it));
const folder = mkdtempSync(join(tmpdir(), "stowage-web-"));
const longest = 120_000; // ms, on a machine that does other work

const models = [
  ...["classifier.onnx", "buffers.csv", "heads.json"].map((it) => join(examples, it)),
  ...[
    "tflite/person_detect.tflite",
    "tflite/mobilenet_v2_int8_224.tflite",
    "onnx/light_densenet121.onnx",
  ].map((it) => join(data, "models", it)),
].filter((it) => existsSync(it));

async function open(options = {}) {
  const page = await openFile(address, { ...options, prepare: (it) => it.context().setOffline(true) });
  page.setDefaultTimeout(longest);
  return page;
}

/** What the page says once it has ended. */
async function outcome(page) {
  await page.waitForFunction(() => {
    const says = (selector) => document.querySelector(selector)?.textContent ?? "";
    return / is planned in |Stopped/.test(says('[role="status"]')) || says('[role="alert"]') !== "";
  });
  return {
    status: (await page.locator('main > section [role="status"]').innerText()).replaceAll("\u202f", ""),
    error: await page.locator('[role="alert"]').innerText(),
  };
}

const peakIn = (status) => Number(/peak (\d+)/.exec(status)?.[1]);

function planned(model, ...options) {
  const file = join(folder, "native.json");
  const begin = Date.now();
  execFileSync(program, ["plan", model, "--threads", "1", ...options, "-o", file], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return { ...JSON.parse(readFileSync(file, "utf8")).summary, took: (Date.now() - begin) / 1000 };
}

async function plansAsTheCommand() {
  const page = await open();
  await page.fill("#seconds", "20");
  for (const model of models) {
    const expected = planned(model, "--time-limit", "20");
    await page.setInputFiles("#file", model);
    const { status, error } = await outcome(page);
    const peak = peakIn(status);
    console.log(`${status} The command: ${expected.peak} bytes in ${expected.took.toFixed(1)} s.`);
    expect(`${model} is planned: ${error}`, error === "");
    const isProven = expected.peak === expected.lower_bound;
    expect(
      `${model} has peak ${expected.peak}, not ${peak}`,
      isProven ? peak === expected.peak : peak >= expected.lower_bound,
    );
    const report = page.frameLocator("iframe");
    await report.getByText("Your peak").waitFor();
    expect(
      `the report of ${model} has the command`,
      (await report.locator("body").innerText()).includes(`stowage plan ${basename(model)} --time-limit 20`),
    );
    await page.evaluate(() => document.querySelector("form").reset());
    await page.fill("#seconds", "20");
  }
  await page.close();
}

/** With keys alone: the file, a capacity, the plan, and the report. */
async function isUsedByKeyboard() {
  const page = await open();
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.textContent);
  const order = [];
  for (let i = 0; i < 9; ++i) {
    await page.keyboard.press("Tab");
    order.push(await focused());
  }
  expect(
    `Tab goes through ${order}`,
    order.join() === "◐,file,capacity,seconds,sizes,values,states,rows,Plan",
  );
  await page.keyboard.press("Enter");
  expect("a plan without a file is refused", (await outcome(page)).error.includes("no file is given"));
  expect(`it asks for the file, not ${await focused()}`, (await focused()) === "file");
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.keyboard.press("Space")]);
  await chooser.setFiles(join(examples, "classifier.onnx"));
  expect(
    "the peak is proven",
    (await outcome(page)).status.includes("peak 737280 bytes (720.0 KiB), proven optimal"),
  );
  await page.keyboard.press("Tab");
  await page.keyboard.type("700KiB");
  await page.keyboard.press("Enter");
  await page.locator(".note").first().waitFor();
  const note = await page.locator(".note").first().innerText();
  expect(
    `it says what does not fit: ${note}`,
    note.startsWith("the plan needs 737280 bytes, 20480 more than"),
  );
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("720KiB");
  await page.keyboard.press("Enter");
  expect("it fits into its size", (await outcome(page)).status.includes("peak 737280 bytes"));
  expect("what does not fit is gone", (await page.locator(".note").count()) === 0);
  expect("an earlier report is gone", (await page.locator("iframe").count()) === 1);
  await page.getByRole("button", { name: "Save the report (HTML)" }).focus();
  const [html] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
  expect(`the report is ${html.suggestedFilename()}`, html.suggestedFilename() === "classifier.html");
  expect("the report is saved", readFileSync(await html.path(), "utf8").startsWith("<!doctype html>"));
  await page.keyboard.press("Tab");
  const [json] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Space")]);
  const plan = join(folder, "page.json");
  await json.saveAs(plan);
  const verdict = execFileSync(program, [
    "verify",
    plan,
    "--model",
    join(examples, "classifier.onnx"),
  ]).toString();
  expect(`the plan is right: ${verdict}`, verdict.startsWith("valid"));
  await page.frameLocator("iframe").getByText("Your peak").waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  expect(
    `Tab reaches the report, not ${await focused()}`,
    await page.evaluate(() => document.activeElement.tagName === "IFRAME"),
  );
  await page.close();
}

async function takesWhatIsDropped() {
  const page = await open();
  const drop = async (...files) => {
    const transfer = await page.evaluateHandle((given) => {
      const it = new DataTransfer();
      for (const [name, text] of given) it.items.add(new File([text], name));
      return it;
    }, files);
    await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
    return outcome(page);
  };
  const list = "id,lower,upper,size\na,0,2,64\nb,1,3,32\n";
  const { status, error } = await drop(["list.csv", list]);
  expect(`a dropped list is planned: ${status}${error}`, peakIn(status) === 96);
  const bad = await drop(["list.csv", "id,lower,upper,size\na,0,x,3\n"]);
  const words = "list.csv: line 2: upper is 'x', expected a whole number of 64 bits";
  expect(`an error is as clear as the command's: ${bad.error}`, bad.error === words);
  expect("after an error there is no report", (await page.locator("iframe").count()) === 0);
  expect(
    "two files are refused",
    (await drop(["a.csv", list], ["b.csv", list])).error.includes("several files"),
  );
  await page.fill("#capacity", "12q");
  expect(
    "a wrong capacity is refused",
    (await drop(["list.csv", list])).error.startsWith("--capacity is '12q'"),
  );
  await page.fill("#capacity", "");
  const hostile = await drop(["<img src=x onerror=alert(1)>.csv", "id\n"]);
  expect(`names are text: ${hostile.error}`, hostile.error.startsWith("<img src=x"));
  await page.close();
}

/** An ONNX model: y is x in the shape that the input `sizes` says, and `new` is the next `old`. */
function reshapingModel() {
  const sizeOf = (count) => (count < 128 ? [count] : [128 + (count % 128), count >> 7]);
  const bytes = (field, content) => [8 * field + 2, ...sizeOf(content.length), ...content];
  const text = (field, content) => bytes(field, [...Buffer.from(content)]);
  const number = (field, value) => [8 * field, value];
  const node = (type, inputs, output) =>
    bytes(1, [...inputs.flatMap((it) => text(1, it)), ...text(2, output), ...text(4, type)]);
  const value = (field, name, type, size) => {
    const shape = bytes(2, bytes(1, number(1, size)));
    return bytes(field, [...text(1, name), ...bytes(2, bytes(1, [...number(1, type), ...shape]))]);
  };
  const [input, output, float, int64] = [11, 12, 1, 7];
  const graph = [
    ...node("Reshape", ["x", "sizes"], "s"),
    ...node("Softmax", ["s"], "y"),
    ...node("Add", ["x", "old"], "new"),
    ...text(2, "g"),
    ...value(input, "x", float, 24),
    ...value(input, "sizes", int64, 2),
    ...value(input, "old", float, 24),
    ...value(output, "new", float, 24),
    ...bytes(output, text(1, "y")),
  ];
  return Buffer.from([...number(1, 8), ...bytes(7, graph), ...bytes(8, number(2, 17))]);
}

/** A model that wants a value is refused at the field for values; with it, and with state, it is planned. */
async function asksForValues() {
  const page = await open();
  const model = join(folder, "reshaping.onnx");
  writeFileSync(model, reshapingModel());
  const marked = () =>
    page.locator("input[aria-invalid]").evaluateAll((all) => all.map((it) => it.id).join());
  await page.setInputFiles("#file", model);
  const { error } = await outcome(page);
  expect(`a value is missing: ${error}`, error.includes("--value sizes=..."));
  expect(
    `the field has the focus, and ${await marked()} are marked`,
    (await marked()).includes("values") &&
      (await page.evaluate(() => document.activeElement.hasAttribute("aria-invalid"))),
  );
  if (pictures) await page.screenshot({ path: join(pictures, "value-missing.png") });
  await expectAccessible(page, "a value is missing");
  await page.fill("#values", "sizes=4,6");
  await page.fill("#states", "new=old");
  await page.keyboard.press("Enter");
  const { status } = await outcome(page);
  const expected = planned(model, "--value", "sizes=4,6", "--state", "new=old");
  expect(`it has peak ${expected.peak}: ${status}`, peakIn(status) === expected.peak);
  expect(`then ${await marked()} is not marked`, (await marked()) === "");
  const report = page.frameLocator("iframe");
  await report.getByText("Your peak").waitFor();
  expect(
    "the report has the command",
    (await report.locator("body").innerText()).includes(
      "stowage plan reshaping.onnx --value sizes=4,6 --state new=old",
    ),
  );
  if (pictures) await page.screenshot({ path: join(pictures, "values.png") });
  await page.fill("#states", "new");
  await page.keyboard.press("Enter");
  await page.locator(".problem").waitFor();
  expect(`the state is wrong: ${await marked()}`, (await marked()) === "states");
  await page.close();
}

async function canBeStopped() {
  const page = await open();
  const lines = ["id,lower,upper,size"];
  for (let i = 0; i < 3000; ++i)
    lines.push(`b${i},${i},${i + 2 + ((i * 7919) % 97)},${1 + ((i * 37) % 101)}`);
  const list = join(folder, "long.csv");
  writeFileSync(list, `${lines.join("\n")}\n`);
  await page.fill("#seconds", "600");
  await page.setInputFiles("#file", list);
  await page.locator(".doing:not(:empty)").waitFor();
  if (pictures) await page.screenshot({ path: join(pictures, "busy.png") });
  await page.getByRole("button", { name: "Stop" }).click();
  expect("it says that it has stopped", (await outcome(page)).status.startsWith("Stopped"));
  await page.fill("#seconds", "");
  await page.setInputFiles("#file", join(examples, "buffers.csv"));
  expect("it plans again", (await outcome(page)).status.startsWith("buffers.csv is planned"));
  await page.close();
}

async function looksWell() {
  for (const [name, width, colorScheme] of [
    ["wide", 1440, "light"],
    ["wide-dark", 1440, "dark"],
    ["narrow", 390, "light"],
  ]) {
    const page = await open({ colorScheme, viewport: { width, height: 900 } });
    if (pictures) await page.screenshot({ path: join(pictures, `${name}-begin.png`) });
    await page.setInputFiles("#file", join(examples, "classifier.onnx"));
    await outcome(page);
    await page.frameLocator("iframe").getByText("Your peak").waitFor();
    await expectAccessible(page, name);
    expect(
      `${name} is no wider than its window`,
      await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
    );
    if (pictures) {
      await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
      await page.locator("iframe").scrollIntoViewIfNeeded();
      await page.screenshot({ path: join(pictures, `${name}-report.png`) });
    }
    await page.fill("#capacity", "12q");
    await page.keyboard.press("Enter");
    await page.locator(".problem").waitFor();
    await expectAccessible(page, `${name} with an error`);
    if (pictures) await page.screenshot({ path: join(pictures, `${name}-error.png`) });
    await page.close();
  }
}

try {
  await isUsedByKeyboard();
  await takesWhatIsDropped();
  await asksForValues();
  await canBeStopped();
  await looksWell();
  await plansAsTheCommand();
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
finish("the page that plans");
