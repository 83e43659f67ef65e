// Opens the page of a cluster that runs, and of files that are cut or have forgotten, and looks at what the browser says of them.

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** Starts a program and waits for a link in what it prints. */
export function started(coracle, args, env = {}) {
  const child = spawn(coracle, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((found, fail) => {
    child.once("exit", (code) => fail(new Error(`${args.join(" ")} ended with ${code}`)));
    createInterface(child.stdout).on("line", (line) => {
      const link = /http:\/\/\S+/.exec(line);
      if (link) found({ child, link: link[0] });
    });
  });
}

/** The status and the text of an answer. */
function asked(link, headers = {}) {
  return new Promise((done, fail) => {
    const sent = request(link, { headers }, (answer) => {
      let text = "";
      answer.on("data", (part) => { text += part; });
      answer.on("end", () => done({ status: answer.statusCode, text }));
    });
    sent.on("error", fail);
    sent.end();
  });
}

/** A way to a server that can be cut and mended; its link is another, with the same secret. */
async function between(link) {
  const to = new URL(link), sockets = new Set();
  const server = createServer((asks, answers) => {
    const sent = request(new URL(asks.url, to), { headers: { ...asks.headers, host: to.host } }, (answer) => {
      answers.writeHead(answer.statusCode, answer.headers);
      answer.pipe(answers);
    });
    sent.on("error", () => answers.destroy());
    answers.on("close", () => sent.destroy());
    sent.end();
  });
  server.on("connection", (socket) => sockets.add(socket));
  const listen = (port) => new Promise((done) => server.listen(port, "127.0.0.1", done));
  await listen(0);
  const { port } = server.address();
  const cut = () => new Promise((done) => { server.close(done); sockets.forEach((socket) => socket.destroy()); });
  return { link: `http://127.0.0.1:${port}${to.pathname}`, cut, mend: () => listen(port) };
}

const has = (program) => spawnSync(program, ["--help"]).error === undefined;

export async function live({ browser, coracle, folder, events, html, changed, claim }) {
  const opened = async (link) => {
    const context = await browser.newContext({ viewport: { width: 1300, height: 950 } });
    const page = await context.newPage(), said = [];
    page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => said.push(error.stack));
    page.on("request", (one) => { if (!one.url().startsWith(link.split("#")[0])) said.push(`request: ${one.url()}`); });
    await page.addInitScript(() => addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
    await page.goto(link);
    await page.waitForSelector("canvas");
    return { page, said, close: () => context.close() };
  };
  {
    const state = join(folder, "state"), env = { CORACLE_STATE_DIR: state };
    const { child, link } = await started(coracle, ["up", "--ephemeral", "--view"], env);
    const { page, said, close } = await opened(link);
    claim((await page.innerText("header")).includes("● live"), "the page of a cluster that runs says that it is live");
    const number = async () => Number((await page.innerText(".at b")).slice(1));
    if (has("kubectl")) {
      const kubectl = (...args) => execFileSync(coracle, ["kubectl", ...args], { env: { ...process.env, ...env } });
      const clocks = () => page.evaluate(() => ["header .quiet", ".at"].map((where) => Number(/([\d.]+) s/.exec(document.querySelector(where).textContent)?.[1] ?? 0)));
      const [began] = await clocks();
      kubectl("run", "seen", "--image=nginx");
      await page.locator(".name", { hasText: /^seen$/ }).waitFor();
      claim(true, "a pod that kubectl creates appears on the page");
      const [since, newest] = await clocks();
      claim(since >= began && newest <= since && newest >= began, "the first thing that is asked for does not set the clock back", `${began} ${since} ${newest}`);
      await page.keyboard.press("f");
      const stays = await number(), shown = async () => Number(/([0-9]+) events/.exec(await page.innerText("header"))[1]);
      const before = await shown();
      kubectl("run", "later", "--image=nginx");
      await page.locator(".name", { hasText: /^later$/ }).waitFor();
      claim((await number()) === stays && (await shown()) > before, "the cursor stays where it is while the log grows");
      await page.keyboard.press("[");
      claim((await number()) < stays, "one can step back in a cluster that runs");
      await page.keyboard.press("f");
      claim((await number()) >= stays, "and follow the newest again");
      await page.waitForFunction(() => / · (store\.commit|sync\.end|check\.)/.test(document.querySelector(".event dd").textContent));
      claim(!/ (events|leases)\//.test(await page.innerText(".story .caption")), "and what is followed is a decision or a write, and no Event and no Lease");
      const way = await between(link), far = await opened(way.link);
      await way.cut();
      await far.page.locator("header", { hasText: "○ disconnected" }).waitFor();
      kubectl("run", "meanwhile", "--image=nginx");
      await way.mend();
      await far.page.locator(".name", { hasText: /^meanwhile$/ }).waitFor();
      const back = await far.page.innerText("header");
      claim(back.includes("● live") && !(await far.page.innerText(".corner")).includes("dropped"), "after a disconnection it goes on where it stopped", back);
      await far.close();
      way.cut();
    } else {
      console.log("SKIPPED: a pod that kubectl creates: there is no kubectl");
    }
    claim(said.length === 0, "it opens with nothing on the console, no request elsewhere and no policy violation", said.join("\n"));
    const secret = new URL(link).pathname.split("/")[1], wrong = link.replace(secret, "0".repeat(secret.length));
    const answers = [await asked(wrong), await asked(`${wrong}events`), await asked(`${link}events`, { host: "evil.example" }), await asked(link, { origin: "http://evil.example" })];
    claim(answers.every(({ status, text }) => status === 403 && text === ""), "a wrong secret, host or origin gets 403 and no word more", JSON.stringify(answers));
    child.kill("SIGTERM");
    await page.locator("header", { hasText: "○ disconnected" }).waitFor();
    claim((await page.locator("canvas").count()) === 1, "when the cluster is gone the page says so, and keeps what it had");
    await close();
  }
  {
    const { child, link } = await started(coracle, ["view", events, "--at", "rev=100"]);
    const { page, said, close } = await opened(link);
    claim((await page.innerText(".at")).includes("rev 100") && said.length === 0, "`coracle view --at` serves a page that begins there", said.join("\n"));
    child.kill("SIGTERM");
    await close();
  }
  {
    const file = join(folder, "cut.jsonl"), report = join(folder, "of-cut.html"), text = readFileSync(events, "utf8");
    writeFileSync(file, text.slice(0, text.length / 2));
    const { status, stderr } = spawnSync(coracle, ["view", file, "--report", report], { encoding: "utf8" });
    const sentence = /events file .*/.exec(stderr)?.[0] ?? "";
    const { page, said, close } = await opened(`file://${report}`);
    claim(status === 2 && sentence.includes("it is cut here") && (await page.innerText(".failure")).includes(sentence) && said.length === 0, "a run that is cut is shown up to there, with the sentence of the terminal", `${status} ${stderr} ${said.join("\n")}`);
    await close();
  }
  {
    const file = changed(html, "forgotten.html", (data) => {
      data.entries = data.entries.slice(2000);
      delete data.summary.begins;
      return data;
    });
    const { page, said, close } = await opened(`file://${file}`);
    const hatched = await page.evaluate(() => {
      const canvas = document.querySelector("canvas"), context = canvas.getContext("2d"), colours = new Set();
      const { data } = context.getImageData(2, 60, 8, Math.min(200, canvas.height - 60));
      for (let at = 0; at < data.length; at += 4) colours.add(data.slice(at, at + 4).join());
      return colours.size > 2;
    });
    claim(hatched && (await page.innerText(".corner")).includes("dropped") && said.length === 0, "what a log has forgotten is hatched at the edge of the lanes", said.join("\n"));
    await close();
  }
}
