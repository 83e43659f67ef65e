// The lessons as `coracle learn` serves them: from the list to the end of the first lesson, a change of its run, and the next lesson.

import { outside } from "./layout.mjs";
import { started } from "./live.mjs";

const MOST_ACTIONS = 10;
const SIZES = { "1280x720": { width: 1280, height: 720 }, "phone 400x800": { width: 400, height: 800 } };
/** The changes of the form: what each is, and how the second run begins. */
const CHANGES = {
  delete: ["a pod is deleted", /pod web-\w+ is deleted/], stop: ["a controller is stopped", /controller-manager\/replicaset is stopped/],
  lag: ["a watch lags", /controller-manager sees events about each Pod 5 s later/], scale: ["replicas are edited", /web is scaled to 5 replicas/],
};

export async function learn({ browser, coracle, claim, Axe }) {
  const { child, link } = await started(coracle, ["learn", "--serve", "--address", "127.0.0.1"]);
  const opened = async (options = {}) => {
    const context = await browser.newContext({ viewport: SIZES["1280x720"], ...options });
    const page = await context.newPage(), said = [];
    page.setDefaultTimeout(120_000);
    page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => said.push(error.stack));
    page.on("requestfailed", (request) => said.push(`${request.failure().errorText}: ${request.url()}`));
    page.on("request", (request) => { if (!request.url().startsWith(link)) said.push(`request: ${request.url()}`); });
    await page.addInitScript(() => addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
    await page.goto(link);
    return { page, said, close: () => context.close() };
  };
  const { page, said, close } = await opened();
  const actions = [];
  const click = async (where) => {
    actions.push(where);
    await page.click(where);
  };
  const stored = () => page.evaluate(() => JSON.parse(localStorage.getItem("coracle.learn") ?? "{}"));

  claim((await page.innerText("#progress")).startsWith("0 of ") && Object.keys(await stored()).length === 0, "the list begins without progress");
  await click('[data-lesson="a-pod-is-deleted"] a');
  await page.waitForSelector(".answers");
  claim((await stored())["a-pod-is-deleted"] === "begun" && !(await page.isVisible("#change")) && !(await page.isVisible("#next")), "a lesson that was opened is begun, and offers neither a change nor the next one");
  await click(".answers button >> nth=0");
  const answered = await page.innerText(".story");
  claim(answered.includes("your guess") && answered.includes("✓") && answered.includes("A worker compares both states"), "after the guess the page says why an answer is right", answered);
  actions.push("speed");
  await page.selectOption(".cursor select >> nth=0", "4");
  await click(".play");
  await page.waitForSelector("#next", { state: "visible" });
  const caption = await page.innerText(".story");
  claim(/Lesson (\d+) of \1\b/.test(caption), "the end of the lesson is its last caption", caption);
  claim(actions.length <= MOST_ACTIONS, `from the list to the end of lesson 1 in ${actions.length} actions`, actions.join(", "));
  claim((await stored())["a-pod-is-deleted"] === "done", "the browser stores that the lesson is done");

  const lesson = page.url();
  for (const [name, [text, step]] of Object.entries(CHANGES)) {
    await page.click("#change");
    if (name === "stop") await page.selectOption('dialog select[name="part"]', "controller-manager/replicaset");
    await page.click(`dialog button[value="${name}"]`);
    await page.waitForSelector(".screen");
    const refused = await page.locator(".failure", { hasText: "was refused" }).count();
    const sides = await page.locator(".parted").allInnerTexts();
    claim(refused === 0 && sides.length === 2 && sides[0].includes("as it was") && step.test(sides[1]) && !step.test(sides[0]), `${text}: both runs are on the page`, `${page.url()}\n${sides.join("\n")}${refused ? await page.innerText(".failure") : ""}`);
    claim(!/\.size\(\)|has\(/.test(await page.evaluate(() => document.body.innerText)), `${text}: the page shows no expression`);
    await page.click("nav.course a >> nth=1");
    await page.waitForSelector(".answers");
    claim(page.url().startsWith(lesson.split("#")[0]) && (await page.isVisible("#change")), `${text}: a link leads back to the lesson, which is still done`);
  }

  await page.click("#change");
  const offered = async () => (await page.locator('dialog select[name="pod"] option').allInnerTexts()).length;
  const now = await offered();
  await page.selectOption('dialog select[name="at"]', { index: 2 });
  claim(now === 3 && (await page.isDisabled('dialog button[value="delete"]')), "the form offers the pods of the chosen event, and at the first step none", `${now}`);
  await page.click('dialog > button:text-is("close")');

  await page.click("#next");
  await page.waitForSelector(".answers");
  claim((await page.innerText("nav.course")).includes("Lesson 2 of "), "next leads to lesson 2");
  await page.click("nav.course a >> nth=0");
  await page.waitForSelector("#next");
  const list = await page.innerText("#progress"), states = await page.locator("[data-lesson] .state").allInnerTexts();
  claim(list.startsWith("1 of ") && states[0] === "✓ done" && states[1] === "begun" && states.slice(2).every((state) => state === ""), "the list shows what is done and what is begun", `${list}\n${states}`);
  claim(said.length === 0, "the lessons open with nothing on the console, no request elsewhere and no policy violation", said.join("\n"));
  await close();
  await isAccessible({ opened, claim, Axe });
  child.kill("SIGTERM");
}

/** The list, a lesson before and after its guess, the form for a change, and both runs, at each size and in both schemes. */
async function isAccessible({ opened, claim, Axe }) {
  for (const colorScheme of ["light", "dark"]) for (const [size, viewport] of Object.entries(SIZES)) {
    const { page, said, close } = await opened({ colorScheme, viewport });
    const found = [];
    const look = async (what) => {
      const { violations } = await new Axe({ page }).analyze();
      found.push(...violations.map((one) => `${what}: ${one.id} (${one.impact}): ${one.nodes.slice(0, 3).map((node) => node.html).join(" ").slice(0, 300)}`));
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (wide > 0) found.push(`${what}: ${wide} px wider than the window`);
    };
    await look("list");
    await page.click('[data-lesson="a-pod-is-deleted"] a');
    await page.waitForSelector(".answers");
    await look("question");
    await page.evaluate(() => localStorage.setItem("coracle.learn", JSON.stringify({ "a-pod-is-deleted": "done" })));
    await page.reload();
    await page.click(".answers button >> nth=0");
    await look("answer");
    for (let step = 0; step < 13; step++) {
      await page.click(".story .main");
      found.push(...(await outside(page)).map((what) => `caption ${step + 1}: ${what} is outside the window`));
    }
    await page.click("#change");
    await look("form");
    await page.click('dialog button[value="scale"]');
    await page.waitForSelector(".parted");
    await look("both runs");
    claim(found.length === 0 && said.length === 0, `axe finds no violation on the pages of the lessons, and nothing is wider than the window: ${size}, ${colorScheme}`, [...found, ...said].join("\n     "));
    await close();
  }
}
