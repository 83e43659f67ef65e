// A lesson is done by keyboard alone: the guess, every caption, the contrast, and back.

import { execFileSync } from "node:child_process";
import { join } from "node:path";

export async function checkLesson({ coracle, folder, opened, claim, Axe }) {
  const file = join(folder, "lesson.html");
  const told = execFileSync(coracle, ["learn", "level-or-edge", "--plain", "--report", file], { encoding: "utf8" });
  const { page, said, close } = await opened(file);
  const pane = () => page.innerText(".story"), at = () => page.innerText(".at b");
  const press = (key) => page.keyboard.press(key);
  claim((await pane()).includes("How many pods does each have then?") && (await page.locator(".captions").count()) === 0, "a lesson begins with its question, and tells nothing before a guess");
  await press("j");
  claim((await page.locator(".captions li").count()) === 0, "and a key does not tell either");

  // Tab alone reaches an answer, and Enter takes it.
  const onAnswer = () => page.evaluate(() => document.activeElement?.closest(".answers") !== null);
  let tabs = 0;
  while (!(await onAnswer()) && tabs++ < 200) await press("Tab");
  claim(await onAnswer(), "tab reaches the answers");
  await press("Enter");
  const answered = await pane();
  claim(answered.includes("✗") && answered.includes("your guess") && answered.includes("✓"), "a wrong guess is told what is right, and why");

  // The focus is on the button that goes on: Enter tells one caption after the other.
  const seen = [];
  for (let k = 0; k < 50; k++) {
    const before = await page.locator(".captions li").count();
    await press("Enter");
    if ((await page.locator(".captions li").count()) === before) break;
    const last = page.locator(".captions li").last();
    seen.push({ entry: `#${await last.getAttribute("data-entry")}`, cursor: await at(), isCurrent: await last.evaluate((one) => one.classList.contains("current")) });
  }
  claim(seen.length >= 5 && seen.every(({ entry, cursor, isCurrent }) => entry === cursor && isCurrent), `each of ${seen.length} captions moves the cursor to its event`, JSON.stringify(seen));
  const texts = await page.locator(".captions li button").allTextContents();
  const flat = told.replace(/\s+/g, " ");
  claim(texts.every((text) => flat.includes(text.replace(/\s+/g, " "))), "the page says what the terminal says", texts.find((text) => !flat.includes(text)));
  await press("k");
  claim((await page.locator(".captions li").count()) === seen.length - 1, "a key goes back");

  await press("x");
  await page.waitForFunction(() => document.querySelector(".story").innerText.includes("False in this run"));
  claim((await page.title()).includes("Level-triggered or edge-triggered") && page.url().includes("run=contrast"), "a key leads to the contrast, and the link says so");
  claim((await pane()).includes("Instead:") && !/\.size\(\)|==/.test(await pane()), "which begins with what is false there and what is true instead, in sentences");
  await press("j");
  claim((await page.locator(".captions li").count()) === 1 && (await at()) === `#${await page.locator(".captions li").getAttribute("data-entry")}`, "whose first caption is told of its own run");
  await press("j");
  claim((await page.locator(".captions li").count()) === 2, "and goes on by a key");
  const url = page.url();
  await press("x");
  await page.waitForFunction(() => !document.querySelector(".story").textContent.includes("False in this run"));
  claim((await page.locator(".captions li").count()) === seen.length - 1, "and back, to where the lesson was");
  claim(said.length === 0, "with nothing on the console, no request and no policy violation", said.join("\n"));
  await close();

  const linked = await opened(file, url.slice(url.indexOf("#")));
  claim((await linked.page.textContent(".story")).includes("False in this run"), "a link into the contrast opens it");
  await linked.close();

  for (const [name, options] of [["light", { colorScheme: "light" }], ["dark", { colorScheme: "dark" }], ["narrow", { viewport: { width: 400, height: 900 } }]]) {
    const shown = await opened(file, "", options);
    for (const key of ["a", "j", "j", "j"]) await shown.page.keyboard.press(key);
    const { violations } = await new Axe({ page: shown.page }).analyze();
    const serious = violations.filter((one) => ["serious", "critical"].includes(one.impact));
    claim(serious.length === 0, `axe finds nothing serious in a lesson: ${name}`, serious.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html).join(" ")}`).join("\n     "));
    const width = await shown.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    claim(width <= 0, `nothing of a lesson is wider than the window: ${name}`, `${width} px`);
    await shown.close();
  }
}
