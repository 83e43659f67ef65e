// The lab in Node: `node check.mjs CORACLE LAB SCENARIOS [NAME...]`.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

const [coracle, folder, scenarios, ...named] = process.argv.slice(2);
const { LabError, compile, labOf } = await import(join(folder, "module.js"));
const { openLab } = await import(join(folder, "lab.js"));

/** The download of the engine and its scripts, at most. */
const MOST_BYTES = 6_000_000;
/** Scenarios with faults, kills, partitions, leases, volumes, autoscaling and a lost store. */
const TEN = [
  "delete-a-pod", "rolling-update", "late-watch", "lost-answer", "killed-after-a-write", "node-lost-and-found",
  "autoscaling", "store-dies", "two-schedulers", "statefulset-moves-with-claims",
];
const SEED = 7;

const work = mkdtempSync(join(tmpdir(), "coracle-lab-"));
const began = performance.now();
const decoder = new TextDecoder();
const module = await compile(readFileSync(join(folder, "lab.wasm.gz")));
const printed = [];
const fresh = () => labOf(module, { say: (line) => printed.push(line) });

async function check(name, test) {
  const start = performance.now();
  try {
    await test();
    console.log(`ok    ${name} (${Math.round(performance.now() - start)} ms)`);
  } catch (error) {
    console.log(`FAIL  ${name}: ${error.stack}\n${JSON.stringify(error.detail ?? {}).slice(0, 2000)}`);
    process.exitCode = 1;
  }
}

/** Fails with the first line that differs. */
function assertEqualLogs(found, wanted, name) {
  if (found === wanted) return;
  const [ours, theirs] = [found.split("\n"), wanted.split("\n")];
  const place = ours.findIndex((line, i) => line !== theirs[i]);
  const shown = (lines) => lines.slice(Math.max(0, place), place + 2).join("\n    ");
  assert.fail(`${name}: line ${place + 1} of ${ours.length} and ${theirs.length} differs:\n    ${shown(ours)}\n  and not\n    ${shown(theirs)}`);
}

const DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
`;

await check("the download is small", () => {
  const bytes = readdirSync(folder).filter((name) => /\.(gz|js)$/.test(name)).map((name) => statSync(join(folder, name)).size);
  const total = bytes.reduce((sum, size) => sum + size, 0);
  console.log(`      ${total} bytes`);
  const missing = ["wasm-opt", "zopfli"].filter((tool) => spawnSync(tool, ["--help"]).error);
  if (missing.length > 0) return console.log(`SKIPPED: the size: there is no ${missing.join(" and no ")}`);
  assert.ok(total <= MOST_BYTES, `${total} bytes`);
});

await check("three pods of a Deployment run in virtual time", async () => {
  const lab = await fresh();
  const opened = performance.now();
  lab.call({ do: "open", nodes: 2, seed: SEED });
  lab.call({ do: "apply", manifest: DEPLOYMENT });
  lab.call({ do: "settle" });
  const { result } = lab.call({ do: "request", path: "/api/v1/namespaces/default/pods" });
  assert.deepEqual(result.body.items.map((pod) => pod.status.phase), ["Running", "Running", "Running"]);
  console.log(`      three pods after ${Math.round(performance.now() - opened)} ms, in ${Math.round(lab.bytes() / 1e6)} MB`);
});

await check("two hundred pods fit into the memory of a tab", async () => {
  const lab = await fresh();
  lab.call({ do: "open", nodes: 10, seed: SEED });
  lab.call({ do: "apply", manifest: DEPLOYMENT.replace("replicas: 3", "replicas: 200") });
  lab.call({ do: "settle" });
  const { result } = lab.call({ do: "request", path: "/api/v1/namespaces/default/pods" });
  assert.equal(result.body.items.filter((pod) => pod.status.phase === "Running").length, 200);
  console.log(`      ${Math.round(lab.bytes() / 1e6)} MB`);
  assert.ok(lab.bytes() <= 300e6, `${lab.bytes()} bytes`);
});

await check("an error is that of the API, with its line", async () => {
  const lab = await fresh();
  lab.call({ do: "open", seed: SEED });
  const refused = (message) => {
    try {
      lab.call(message);
    } catch (error) {
      assert.ok(error instanceof LabError);
      return error.detail;
    }
    return assert.fail(`${message.do} succeeded`);
  };
  const detail = refused({ do: "apply", manifest: DEPLOYMENT.replace("replicas: 3", "replicas: -1") });
  assert.match(detail.message, /^Deployment.apps "web" is invalid: spec.replicas: Invalid value: -1/);
  assert.deepEqual([detail.line, detail.status.code], [1, 422]);
  assert.match(refused({ do: "opne" }).message, /did you mean `open`\?/);
});

await check("the page's side of a worker waits, and ends a lab that does not answer", async () => {
  const sent = [];
  const worker = { postMessage: (message) => sent.push(message), terminate: () => sent.push("terminated") };
  const lab = openLab(worker, "lab.wasm.gz");
  worker.onmessage({ data: { ready: true } });
  await lab.isReady;
  const answered = lab.call({ do: "list" });
  worker.onmessage({ data: { id: 1, result: { lessons: [] }, payload: new Uint8Array() } });
  assert.deepEqual((await answered).result, { lessons: [] });
  await assert.rejects(lab.call({ do: "settle" }, 5), (error) => error.detail.during.do === "settle");
  assert.equal(sent.at(-1), "terminated");
  await assert.rejects(lab.call({ do: "list" }), /has not answered settle/);
});

const yaml = readdirSync(scenarios).filter((name) => name.endsWith(".yaml")).map((name) => name.slice(0, -5));
for (const name of named.length > 0 ? (named[0] === "all" ? yaml : named) : TEN) {
  await check(`the event log of ${name} is that of the program`, async () => {
    const events = join(work, `${name}.jsonl`);
    execFileSync(coracle, ["run", join(scenarios, `${name}.yaml`), "--mode", "virtual", "--seed", `${SEED}`, "--quiet", "--events", events], { stdio: "pipe" });
    const { result, payload } = (await fresh()).call({ do: "run", name, seed: SEED });
    assert.equal(result.passed, true);
    assertEqualLogs(decoder.decode(payload), readFileSync(events, "utf8"), name);
    rmSync(events);
  });
}

/** The data of a page. */
function dataOf(page) {
  const [, after] = page.split('<script id="run" type="application/octet-stream">');
  return gunzipSync(Buffer.from(after.split("</script>")[0], "base64")).toString();
}

const { lessons } = (await fresh()).call({ do: "list" }).result;
assert.ok(lessons.length >= 20);
for (const { name } of lessons) {
  await check(`the runs of the lesson ${name} are those of the program`, async () => {
    const report = join(work, `${name}.html`);
    execFileSync(coracle, ["learn", name, "--plain", "--report", report], { stdio: "pipe" });
    const { payload } = (await fresh()).call({ do: "lesson", name });
    assertEqualLogs(decoder.decode(payload).replaceAll("],[", "],\n["), dataOf(readFileSync(report, "utf8")).replaceAll("],[", "],\n["), name);
    rmSync(report);
  });
}

assert.deepEqual(printed, [], "the module prints nothing");
rmSync(work, { recursive: true });
console.log(`${process.exitCode ? "FAILED" : "passed"} after ${Math.round((performance.now() - began) / 1000)} s`);
