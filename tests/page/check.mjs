// Opens reports from disk, with the network cut, and looks at what the browser says of them.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import Axe from "@axe-core/playwright";
import { chromium } from "playwright-core";
import { cursor } from "./cursor.mjs";
import { checkLesson } from "./lesson.mjs";
import { guess } from "./guess.mjs";
import { layout } from "./layout.mjs";
import { learn } from "./learn.mjs";
import { live } from "./live.mjs";
import { twoRuns } from "./two_runs.mjs";

const [coracle, scenarios, browserPath] = process.argv.slice(2);
// What a busy or slow machine may miss is printed there, and judged only where the machine is quiet.
const isTimed = process.env.CORACLE_PAGE_TIMED !== "no";
const pictures = process.env.CORACLE_PAGE_PICTURES;
const folder = mkdtempSync(join(tmpdir(), "coracle-page-"));
const PLACE = '<script id="run" type="application/octet-stream">';
const DRAWN = 200;

let failed = 0;
function claim(held, text, more = "") {
  console.log(`${held ? "ok  " : "FAIL"} ${text}${held || !more ? "" : `\n     ${more}`}`);
  if (!held) failed++;
}

function bar(held, text, more = "") {
  if (isTimed || held) claim(held, text, more);
  else console.log(`slow ${text}`);
}

function reportOf(scenario) {
  const [html, events] = [join(folder, `${scenario}.html`), join(folder, `${scenario}.jsonl`)];
  execFileSync(coracle, ["run", join(scenarios, `${scenario}.yaml`), "--quiet", "--report", html, "--events", events]);
  return { html, events };
}

/** A report with other data in it. */
function changed(html, name, change) {
  const text = readFileSync(html, "utf8"), [before, rest] = text.split(PLACE), end = rest.indexOf("</script>");
  const data = JSON.parse(gunzipSync(Buffer.from(rest.slice(0, end), "base64")));
  const made = join(folder, name), packed = gzipSync(JSON.stringify(change(data))).toString("base64");
  writeFileSync(made, before + PLACE + packed + rest.slice(end));
  return made;
}

const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });

async function opened(file, hash = "", options = {}) {
  const context = await browser.newContext({ offline: true, viewport: { width: 1300, height: 950 }, ...options });
  const page = await context.newPage(), said = [];
  page.setDefaultTimeout(120_000);
  page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => said.push(error.stack));
  page.on("dialog", (dialog) => { said.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => { if (request.url() !== `file://${file}` && !request.url().startsWith(`file://${file}#`)) said.push(`request: ${request.url()}`); });
  await page.addInitScript(() => addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
  const begun = performance.now();
  await page.goto(`file://${file}${hash}`);
  await page.waitForSelector("canvas");
  return { page, said, close: () => context.close(), took: performance.now() - begun };
}

const { html, events } = reportOf("delete-a-pod");
claim(readFileSync(html).length <= 500_000, "the demo's report is at most 500 kB");
const stopped = reportOf("level-not-edge"), partition = reportOf("partition");

{
  const { page, said, close } = await opened(html);
  for (const tab of ["pipeline", "belief", "object", "log", "findings", "checks"]) {
    await page.click(`#tab-${tab}`);
    claim((await page.innerText("#panel")).trim().length > 0, `the pane "${tab}" says something`);
  }
  const first = await page.innerText(".at b");
  await page.keyboard.press("ArrowRight");
  claim((await page.innerText(".at b")) !== first, "an arrow key moves the cursor");
  await page.keyboard.press("ArrowLeft");
  claim((await page.innerText(".at b")) === first, "and the other one moves it back");
  claim(said.length === 0, "a report opens with nothing on the console, no request and no policy violation", said.join("\n"));
  await close();
}
{
  const { page, said, close } = await opened(partition.html, "", { colorScheme: "dark" });
  claim((await page.locator(".name", { hasText: "partition" }).count()) > 0 && said.length === 0, "a fault has a lane", said.join("\n"));
  await close();
}
{
  const { page, close } = await opened(stopped.html);
  const faults = await page.locator(".name", { hasText: /^(stopped|killed) / }).allInnerTexts();
  claim(faults.join() === "stopped controller-manager", "a component that was stopped has one, and the end of the run has none", faults.join());
  await close();
}
{
  const { page, close } = await opened(html, "#i=3000");
  claim((await page.innerText(".at b")) === "#3000", "a link selects its event");
  const ids = readFileSync(events, "utf8").split("\n").map((line) => line && JSON.parse(line).i).filter((id) => id);
  const step = Math.floor(ids.length / DRAWN);
  let different = "";
  for (let k = 0; k < DRAWN; k++) {
    const id = ids[k * step];
    const told = execFileSync(coracle, ["why", `#${id}`, "--events", events], { encoding: "utf8" }).trimEnd().split("\n");
    await page.evaluate((to) => { location.hash = `#i=${to}`; }, id);
    await page.waitForFunction((to) => document.querySelector(".at b").textContent === `#${to}`, id);
    const links = await page.$$eval(".chain .line", (lines) => lines.map((line) => [line.querySelector(".id").textContent, line.querySelector(".what").textContent.trim()]));
    const same = links.length === told.length && links.every(([number, what], at) => told[at].trim().startsWith(`${number} `) && (what.includes("…") || told[at].endsWith(what)));
    if (!same) different ||= `#${id}: ${JSON.stringify(links)}\n${told.join("\n")}`;
  }
  claim(!different, `the chains of ${DRAWN} events are what \`coracle why\` says`, different);
  await page.evaluate(() => { location.hash = "#i=99999999"; });
  await page.waitForSelector('[role="alert"]');
  claim((await page.innerText('[role="alert"]')).includes("no event #99999999"), "a link to no event says so, and shows the nearest");
  await close();
}
{
  const file = changed(html, "foreign.html", (data) => {
    for (const row of data.entries) if (row[7] && row[7].agent === "coracle-scenario") row[7].agent = "operator/1.0";
    return data;
  });
  const { page, said, close } = await opened(file);
  claim((await page.locator(".group", { hasText: "unknown inside" }).count()) === 1 && said.length === 0, "who asks and says nothing of itself has a lane that says so", said.join("\n"));
  await close();
}
for (const [name, options] of [["light", { colorScheme: "light" }], ["dark", { colorScheme: "dark" }], ["narrow", { viewport: { width: 400, height: 900 } }]]) {
  const { page, close } = await opened(html, "#i=3512&tab=object", options);
  const { violations } = await new Axe({ page }).analyze();
  const serious = violations.filter((one) => ["serious", "critical"].includes(one.impact));
  claim(serious.length === 0, `axe finds nothing serious: ${name}`, serious.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html).join(" ")}`).join("\n     "));
  const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  claim(width <= 0, `nothing is wider than the window: ${name}`, `${width} px`);
  await close();
}
{
  const hostile = ['</script><script>console.error("script")</script>', '<img src="x" onerror="console.error(1)">', "\u202egnp.exe\u2066", "&lt;b&gt;", "y".repeat(1_000_000), "javascript:alert(1)"];
  const file = changed(html, "hostile.html", (data) => {
    data.names = data.names.map((name, at) => (name.startsWith("pods/") ? `pods/default/${hostile[at % hostile.length]}${at}` : name));
    data.summary.name = hostile[0];
    data.summary.checks.forEach((check, at) => { check.name = hostile[at % hostile.length]; });
    for (const row of data.entries) if (row[7] && row[7].name) row[7].name = hostile[row[0] % hostile.length];
    return data;
  });
  const { page, said, close } = await opened(file);
  for (const tab of ["checks", "object", "log", "belief"]) await page.click(`#tab-${tab}`);
  claim(said.length === 0, "hostile names are text", said.join("\n").slice(0, 500));
  claim((await page.locator("img").count()) === 0 && (await page.innerText("h1")).includes("</script>"), "and are shown as what they are");
  await close();
}
{
  const file = changed(html, "many.html", (data) => {
    const [rows, times] = [data.entries, Math.ceil(100_000 / data.entries.length)], last = rows[rows.length - 1];
    const far = Math.max(...rows.map((row) => row[6] ?? 0));
    data.entries = Array.from({ length: times }, (_, k) => rows.map(([i, t, a, s, o, c, rv, d]) => [i + k * last[0], t + k * last[1], a, s, o, c.map((id) => id + k * last[0]), rv === null ? null : rv + k * far, d])).flat();
    return data;
  });
  const { page, said, close, took } = await opened(file);
  bar(took < 2000, `100,000 events open in under two seconds (${Math.round(took)} ms)`);
  claim(said.length === 0, "and say nothing on the console", said.join("\n"));
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable");
  const scripted = async () => (await devtools.send("Performance.getMetrics")).metrics.find((one) => one.name === "ScriptDuration").value * 1000;
  await page.click('[aria-label="zoom in"]');
  await page.evaluate(() => { document.querySelector("canvas").setPointerCapture = () => {}; });
  const pan = (type, x) => page.evaluate(async ([kind, at]) => {
    const canvas = document.querySelector("canvas"), box = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new PointerEvent(kind, { bubbles: true, clientX: box.left + at, clientY: box.top + 100, pointerId: 1 }));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }, [type, x]);
  await pan("pointerdown", 500);
  const pans = [];
  for (let k = 1; k <= 60; k++) {
    const before = await scripted();
    await pan("pointermove", 500 - k * 4);
    pans.push((await scripted()) - before);
  }
  pans.sort((one, other) => one - other);
  bar(pans[57] <= 17, `panning them takes at most 17 ms of script a frame (p95 ${pans[57].toFixed(1)} ms)`);
  await close();
}
{
  const cut = readFileSync(html, "utf8").split(PLACE);
  const file = join(folder, "cut.html"), end = cut[1].indexOf("</script>");
  writeFileSync(file, cut[0] + PLACE + cut[1].slice(0, end / 2) + cut[1].slice(end));
  const context = await browser.newContext({ offline: true }), page = await context.newPage();
  await page.goto(`file://${file}`);
  await page.waitForFunction(() => document.querySelector(".said")?.textContent.includes("truncated or damaged"));
  claim(true, "a report that was cut says so");
  const old = await context.newPage();
  await old.addInitScript(() => { delete globalThis.DecompressionStream; });
  await old.goto(`file://${html}`);
  await old.waitForFunction(() => document.querySelector(".said")?.textContent.includes("DecompressionStream"));
  claim(true, "a browser that cannot unpack it gets a sentence");
  await context.close();
}
await cursor({ html, events, opened, changed, claim });
await twoRuns({ coracle, scenarios, folder, claim, opened });
await checkLesson({ coracle, folder, opened, claim, Axe });
await guess({ coracle, folder, opened, claim });
await layout({ coracle, lessons: join(scenarios, "..", "lessons"), folder, html, opened, claim, bar, Axe });
await live({ browser, coracle, folder, events, html, changed, claim });
await learn({ browser, coracle, claim, Axe });
if (pictures) {
  const views = [
    ["window", "", { viewport: { width: 1300, height: 900 } }],
    ["belief", "&tab=belief", { viewport: { width: 1300, height: 900 }, colorScheme: "dark" }],
    ["narrow", "&tab=object", { viewport: { width: 400, height: 900 } }],
  ];
  for (const [name, hash, options] of views) {
    const { page, close } = await opened(html, `#${hash}`, { reducedMotion: "reduce", ...options });
    await page.screenshot({ path: join(pictures, `${name}.png`) });
    await close();
  }
  console.log(`pictures in ${pictures}`);
}
await browser.close();
rmSync(folder, { recursive: true });
process.exit(failed ? 1 : 0);
