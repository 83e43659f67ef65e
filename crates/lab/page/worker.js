// The worker of a lab. The first message starts it: {start: the bytes of the module, compressed or not, or its address}.
// Later ones are messages of the lab with an `id`. The answers are {ready: true} or {id, result, payload} or {id, error}.

import { LabError, compile, labOf } from "./module.js";

let lab = null;

async function bytesOf(start) {
  if (typeof start !== "string") return start;
  const response = await fetch(start);
  if (!response.ok) throw new Error(`${start}: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}

function answer({ id, ...message }) {
  try {
    if (!lab) throw new Error("the lab has not started");
    const { result, payload } = lab.call(message);
    postMessage({ id, result, payload }, [payload.buffer]);
  } catch (error) {
    postMessage({ id, error: error instanceof LabError ? error.detail : { message: error.message, isFatal: true } });
  }
}

onmessage = async ({ data }) => {
  if (!("start" in data)) return answer(data);
  try {
    lab = await labOf(await compile(await bytesOf(data.start)), { say: (line) => console.log(line) });
    postMessage({ ready: true });
  } catch (error) {
    postMessage({ ready: false, error: { message: error.message, isFatal: true } });
  }
};
