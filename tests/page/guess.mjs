// A guess is made in the picture, and drawn into it; what explains a part of the picture is there for a finger and a keyboard, too.

import { execFileSync } from "node:child_process";
import { join } from "node:path";

export async function guess({ coracle, folder, opened, claim }) {
  const file = join(folder, "guess.html");
  execFileSync(coracle, ["learn", "a-pod-is-deleted", "--plain", "--report", file], { stdio: "ignore" });
  const chosen = (page) => page.innerText(".answers li:has(i)");
  {
    const { page, said, close } = await opened(file);
    const boxes = await page.$$eval(".map .guessable", (all) => all.map((one) => one.textContent));
    claim(boxes.includes("API server") && boxes.includes("replicaset") && boxes.includes("the kubelet") && (await page.locator(".guessed").count()) === 0, "while the question is open the components that the answers name can be clicked on", boxes.join());
    await page.click('.map [data-site="controller:replicaset"]');
    claim((await page.locator(".answers .pointed").count()) === 2 && (await page.locator(".captions").count()) === 0, "a component that two answers name points at both, and is no guess yet");
    await page.click('.map [data-site="api"]');
    claim((await chosen(page)).startsWith("✗ a"), "a click on a box of the map is a guess", await page.innerText(".story"));
    const marked = await page.$eval(".guessed", (one) => [one.textContent, getComputedStyle(one, "::after").content, getComputedStyle(one).outlineStyle]);
    claim(marked[0] === "API server" && marked[1] === '"your guess"' && marked[2] === "dashed", "the guess is drawn at its box, dashed and labelled", marked.join());
    const [, lane] = await page.$$eval(".names > button", (all) => all.map((one) => one.textContent));
    claim(lane === "apiserver" && (await isDrawn(page, lane)), "and on its lane");
    claim(said.length === 0, "with nothing on the console", said.join("\n"));
    await close();
  }
  {
    const { page, close } = await opened(file);
    await page.click(".name.guessable >> text=kubelet");
    claim((await chosen(page)).startsWith("✗ b"), "a click on the name of a lane is a guess");
    await close();
  }
  {
    const { page, close } = await opened(file);
    const box = await page.locator("canvas").boundingBox(), row = await page.locator(".name.guessable", { hasText: "apiserver" }).boundingBox();
    await page.mouse.click(box.x + box.width - 20, row.y + row.height / 2);
    claim((await chosen(page)).startsWith("✗ a"), "and so is a click on the lane itself");
    await close();
  }
  {
    const { page, close } = await opened(file, "", { hasTouch: true, viewport: { width: 400, height: 800 } });
    await page.keyboard.press("c");
    const hint = page.locator("#tip");
    await page.tap('[data-site="store"]');
    claim((await hint.isVisible()) && (await hint.innerText()).startsWith("The store (etcd)"), "a tap explains a part of the picture");
    await page.tap(".story .caption, .story .answers");
    claim(!(await hint.isVisible()), "and a tap elsewhere hides the explanation");
    await page.focus('[data-site="api"]');
    await page.keyboard.press("Tab");
    claim((await hint.isVisible()) && (await hint.innerText()).startsWith("The store") && (await page.getAttribute('[data-site="store"]', "aria-describedby")) === "tip", "the focus of the keyboard explains, too");
    await page.keyboard.press("Escape");
    claim(!(await hint.isVisible()), "and Escape hides the explanation");
    const box = await page.locator("canvas").boundingBox(), row = await page.locator(".name", { hasText: "apiserver" }).first().boundingBox(), tip = page.locator(".scroll .tip");
    for (let x = 12; x < box.width && !(await tip.count()); x += 10) await page.touchscreen.tap(box.x + x, row.y + row.height / 2);
    claim((await tip.count()) === 1 && (await tip.innerText()).includes("apiserver"), "a tap on a mark of a lane explains it");
    await page.tap("h1");
    claim((await tip.count()) === 0, "until a tap elsewhere");
    await close();
  }
}

/** Whether a lane has the colour of a guess. */
const isDrawn = (page, lane) => page.evaluate((name) => {
  const canvas = document.querySelector("canvas"), probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--guess").trim();
  probe.fillRect(0, 0, 1, 1);
  const colour = probe.getImageData(0, 0, 1, 1).data.slice(0, 3).join(), row = [...document.querySelectorAll(".names > button")].find((one) => one.textContent === name).getBoundingClientRect();
  const top = Math.round((row.top - canvas.getBoundingClientRect().top) * devicePixelRatio);
  const { data } = canvas.getContext("2d").getImageData(0, top, canvas.width, Math.round(row.height * devicePixelRatio));
  let count = 0;
  for (let at = 0; at < data.length; at += 4) if (data.slice(at, at + 3).join() === colour) count++;
  return count > 20;
}, lane);
