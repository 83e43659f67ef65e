// What the panes say of an event: the sync that it follows from, why it is here, what came next, and of whom something is found.

import { readFileSync } from "node:fs";

export async function cursor({ html, events, opened, changed, claim }) {
  const log = readFileSync(events, "utf8").split("\n").filter((line) => line.startsWith('{"i"')).map((line) => JSON.parse(line));
  const stage = (word, wanted) => log.find((entry) => entry.s === word && wanted(entry));
  const asked = stage("api.request", ({ d, k }) => d.verb === "delete" && k.startsWith("pods/"));
  const commit = stage("store.commit", ({ c }) => c?.includes(asked.i)), change = stage("object.change", ({ c }) => c?.includes(commit.i));
  const made = stage("store.commit", ({ i, d, k }) => i > asked.i && d.op === "create" && k.startsWith("pods/"));
  const end = stage("sync.end", ({ i, d }) => i > made.i && d.decided?.endsWith("create 1")), [start] = end.c;
  {
    const { page, said, close } = await opened(html, `#i=${made.i}`);
    const at = async () => Number((await page.innerText(".at b")).slice(1));
    const go = async (id) => {
      await page.evaluate((to) => { location.hash = `#i=${to}`; }, id);
      await page.waitForFunction((to) => document.querySelector(".at b").textContent === `#${to}`, id);
    };
    const pane = async (tab) => {
      await page.click(`#tab-${tab}`);
      return page.innerText("#panel");
    };
    const panes = [await pane("pipeline"), await pane("belief")];
    claim(start < made.i && panes.every((text) => text.includes(end.d.decided) && text.includes(`still running, until #${end.i}`)), "at a pod's creation the panes show the sync that made it, which still runs", panes.join("\n"));
    claim(panes[1].includes(`${asked.k}\tas it was, terminating`), "belief says of a pod that it is terminating", panes[1]);
    const decides = await page.$$eval(".chain .line", (lines) => lines.map((line) => line.textContent).filter((text) => text.includes("decides:")));
    claim(decides.length === 1 && decides[0].includes(`#${start}`) && decides[0].includes(end.d.decided), "the chain says what that sync decided", decides.join("\n"));

    await go(asked.i);
    let presses = 0;
    while ((await at()) !== made.i && presses < 40) {
      await page.keyboard.press("e");
      presses++;
    }
    claim((await at()) === made.i, "one key leads from the deletion to the new pod");
    for (let k = 0; k < presses; k++) await page.keyboard.press("c");
    claim((await at()) === asked.i, "and another one back");
    await go(change.i);
    await page.keyboard.press("e");
    claim((await at()) !== change.i && (await page.$$eval(".chain .id", (ids) => ids.map((id) => id.textContent))).includes(`#${commit.i}`), "from what led to nothing it goes on with what else its cause led to");

    await go(asked.i);
    await pane("object");
    await page.fill("#panel input", made.k);
    await page.locator("#panel input").blur();
    claim((await page.innerText("#panel")).includes(`It is created at #${made.i}`), "an object that is not there yet says where it comes to be");
    await page.keyboard.press("w");
    claim((await at()) === made.i, "and a key tells why it will be there");
    claim(said.length === 0, "all that with nothing on the console", said.join("\n"));
    await close();
  }
  {
    const { page, close } = await opened(html, "#tab=findings");
    const [all, folded] = [await page.locator(".finding").count(), await page.locator("details .finding").count()];
    claim(all > 0 && all === folded && !/\d/.test(await page.innerText("#tab-findings")), "what is found of Coracle's own components is folded away");
    await close();
    const file = changed(html, "operator.html", (data) => {
      data.names = data.names.map((name) => name.replace(/^kubelet\/node-1/, "operator/node-1"));
      return data;
    });
    const other = await opened(file, "#tab=findings");
    const found = await other.page.locator("#panel > .finding").allInnerTexts();
    claim(found.length === 1 && found[0].includes("operator/node-1") && (await other.page.innerText("#tab-findings")).endsWith("1"), "and of a user's controller it is not", found.join("\n"));
    await other.close();
  }
  {
    // A log whose entries follow each from the one before.
    const file = changed(html, "long.html", (data) => {
      data.entries = data.entries.slice(-111).map((row, at, rows) => [...row.slice(0, 5), at ? [rows[at - 1][0]] : [], ...row.slice(6)]);
      delete data.summary.begins;
      return data;
    });
    const { page, close } = await opened(file, "#i=999999");
    const [all, folded] = [await page.locator(".chain .line").count(), await page.locator(".chain details .line").count()];
    const last = page.locator(".chain details").first().locator(".line").last();
    claim(all === 111 && folded > 50 && folded < 111 && !(await last.isVisible()), "what lies between the steps of a long chain is folded", `${all} ${folded}`);
    const told = (lines) => page.locator(`${lines} .what`).allTextContents();
    const isStep = (what) => /^(creates|updates|removes|picks|writes for) | decides: /.test(what);
    const [steps, hidden] = [(await told(".chain .line")).filter(isStep), (await told(".chain details .line")).filter(isStep)];
    claim(steps.length > 5 && hidden.length === 0, "and no step is", hidden.join("\n"));
    await page.click(".chain summary");
    claim(await last.isVisible(), "and a click shows it");
    await close();
  }
}
