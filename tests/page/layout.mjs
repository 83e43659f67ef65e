// One screen: at each size the current caption, the map and the lanes of its chain are in the window, and what comes after the question is hidden.

import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";

const SIZES = { "1280x720": [1280, 720], "1400x900": [1400, 900], "1920x1080": [1920, 1080], "phone 400x800": [400, 800] };

/** What of the caption, the map, the loop and the pinned lanes lies outside the window, or is not there at all. */
export const outside = (page) => page.evaluate(() => {
  const found = [], lanes = document.querySelector(".scroll").getBoundingClientRect();
  const isIn = (box, from, to) => box.height > 0 && box.top >= from - 1 && box.bottom <= to + 1 && box.left >= -1 && box.right <= innerWidth + 1;
  for (const where of [".story .caption", ".map", ".loop"]) {
    const one = document.querySelector(where);
    if (!one || !isIn(one.getBoundingClientRect(), 0, innerHeight)) found.push(where);
  }
  const caption = document.querySelector(".story .caption");
  if (caption && caption.scrollHeight > caption.clientHeight + 1) found.push(`the end of a caption: ${caption.textContent}`);
  const rows = [...document.querySelectorAll(".names > button")], pinned = rows.slice(1, rows.findIndex((row, at) => at > 0 && row.classList.contains("group")));
  if (pinned.length === 0) found.push("pinned lanes");
  for (const row of pinned) if (!isIn(row.getBoundingClientRect(), lanes.top, Math.min(lanes.bottom, innerHeight))) found.push(`lane ${row.textContent}`);
  if (innerWidth > 900 && document.documentElement.scrollHeight > innerHeight) found.push("the document scrolls");
  return found;
});

/** Whether the lanes right of the cursor are of one colour, below the ruler. */
const isVeiled = (page) => page.evaluate(() => {
  const canvas = document.querySelector("canvas"), context = canvas.getContext("2d"), ratio = devicePixelRatio, style = getComputedStyle(document.documentElement);
  const probe = document.createElement("canvas").getContext("2d");
  const colour = (name) => { probe.fillStyle = style.getPropertyValue(name).trim(); probe.fillRect(0, 0, 1, 1); return probe.getImageData(0, 0, 1, 1).data.slice(0, 3).join(); };
  const [cursor, veil] = [colour("--cursor"), colour("--veil")], { data, width, height } = context.getImageData(0, 0, canvas.width, canvas.height);
  const at = (x, y) => data.slice((y * width + x) * 4, (y * width + x) * 4 + 3).join();
  let line = 0;
  for (let x = 0; x < width; x++) if (at(x, height - 4) === cursor) line = x;
  if (line === 0 || line > width - 6) return false;
  for (let y = Math.ceil(30 * ratio); y < height; y += 2) for (let x = line + 3; x < width; x += 3) if (at(x, y) !== veil) return false;
  return true;
});

export async function layout({ coracle, lessons, folder, html, opened, claim, bar, Axe }) {
  const names = readdirSync(lessons).filter((name) => name.endsWith(".yaml")).map((name) => name.replace(".yaml", ""));
  const wrong = Object.fromEntries(Object.keys(SIZES).map((size) => [size, []])), open = [], seen = [];
  for (const name of names) {
    const file = join(folder, `layout-${name}.html`);
    execFileSync(coracle, ["learn", name, "--plain", "--report", file], { stdio: "ignore" });
    const { page, close } = await opened(file);
    const before = async () => ({ count: Number((await page.innerText(".at b")).slice(1)), text: await page.evaluate(() => document.body.innerText) });
    const first = await before();
    for (const key of ["End", "j", "ArrowRight", "e"]) await page.keyboard.press(key);
    const last = await before();
    if (!(await isVeiled(page))) open.push(`${name}: the lanes`);
    if (last.count > first.count) open.push(`${name}: a key leads past the question`);
    await page.keyboard.press("a");
    for (const [size, [width, height]] of Object.entries(SIZES)) {
      await page.setViewportSize({ width, height });
      for (let step = 0; step < 40; step++) {
        if (await page.locator(".story .main[aria-disabled=true]").count()) break;
        await page.keyboard.press("j");
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
        const out = await outside(page);
        if (out.length) wrong[size].push(`${name}, step ${step + 1}: ${out.join(", ")}`);
        seen.push(size);
      }
      for (let step = 0; step < 40 && (await page.locator(".story .caption").count()); step++) await page.keyboard.press("k");
    }
    await close();
  }
  claim(open.length === 0, `nothing right of the cursor is drawn before a guess, in ${names.length} lessons`, open.join("\n     "));
  for (const size of Object.keys(SIZES)) {
    const steps = seen.filter((one) => one === size).length;
    claim(steps > names.length && wrong[size].length === 0, `at ${size} the caption, the map and the lanes of its chain are in the window, at ${steps} steps of ${names.length} lessons`, wrong[size].join("\n     "));
  }
  for (const colorScheme of ["light", "dark"]) for (const [size, [width, height]] of Object.entries(SIZES)) {
    const shown = await opened(join(folder, `layout-${names[0]}.html`), "", { colorScheme, viewport: { width, height } });
    const found = [];
    for (const keys of [[], ["a"], ["j"]]) {
      for (const key of keys) await shown.page.keyboard.press(key);
      found.push(...(await new Axe({ page: shown.page }).analyze()).violations.map((one) => `${one.id} (${one.impact}): ${one.nodes.slice(0, 2).map((node) => node.html).join(" ").slice(0, 300)}`));
    }
    claim(found.length === 0, `axe finds no violation in a lesson: ${size}, ${colorScheme}`, [...new Set(found)].join("\n     "));
    await shown.close();
  }
  await plays({ html, opened, claim, bar });
}

/** A run is played by one key, and the picture keeps up. */
async function plays({ html, opened, claim, bar }) {
  const { page, said, close } = await opened(html);
  const number = async () => Number((await page.innerText(".at b")).slice(1)), began = await number();
  await page.keyboard.press(">");
  await page.keyboard.press("Space");
  const frames = await page.evaluate(() => new Promise((done) => {
    const from = performance.now();
    let count = 0;
    const turn = (now) => { count++; if (now - from < 3000) requestAnimationFrame(turn); else done((count * 1000) / (now - from)); };
    requestAnimationFrame(turn);
  }));
  await page.keyboard.press("Space");
  const stopped = await number();
  await page.waitForTimeout(600);
  claim(stopped > began && (await number()) === stopped && said.length === 0, "a key plays the run, and pauses it", said.join("\n"));
  bar(frames >= 30, `play holds 30 frames a second (${Math.round(frames)})`);
  claim(await page.evaluate(() => [...document.querySelectorAll(".dot")].some((dot) => !dot.hidden)), "a dot shows where the event is");
  const devtools = await page.context().newCDPSession(page), times = [];
  await devtools.send("Performance.enable");
  const scripted = async () => (await devtools.send("Performance.getMetrics")).metrics.find((one) => one.name === "ScriptDuration").value * 1000;
  for (let k = 0; k < 40; k++) {
    const before = await scripted();
    await page.keyboard.press("ArrowRight");
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
    times.push((await scripted()) - before);
  }
  times.sort((a, b) => a - b);
  bar(times[38] <= 16, `a step takes at most 16 ms of script (p95 ${times[38].toFixed(1)} ms)`);
  const lanes = () => page.locator(".names > .group").count();
  await page.keyboard.press("o");
  claim((await lanes()) === 1, "a key leaves only the lanes of the chain");
  await page.keyboard.press("o");
  const groups = await page.locator(".names > .group").allInnerTexts();
  claim((await lanes()) > 1 && groups.some((text) => /▸ \d+ others/.test(text)), "and another press brings the others, folded, with their number", groups.join());
  await close();
}
