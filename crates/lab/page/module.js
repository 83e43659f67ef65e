// The lab in this thread: a compiled module, and its messages. It runs in a worker and in Node.

import { wasi } from "./wasi.js";

/** The lab refused a message: `detail` has the message, and where it exists the line of a text and the `Status` of the API. */
export class LabError extends Error {
  constructor(detail) {
    super(detail.message);
    this.detail = detail;
  }
}

/** Compiles a module from its bytes, which may be compressed as gzip. */
export async function compile(bytes) {
  const start = new Uint8Array(bytes, 0, 2);
  if (start[0] !== 0x1f || start[1] !== 0x8b) return WebAssembly.compile(bytes);
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(unpacked).arrayBuffer());
}

/** A lab of a compiled module. Each has a memory of its own. */
export async function labOf(module, options = {}) {
  let memory = null;
  const system = wasi(() => memory, options);
  const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: system.of(module) });
  const { exports } = instance;
  ({ memory } = exports);
  exports.__wasm_call_ctors();
  const encoder = new TextEncoder(), decoder = new TextDecoder();
  let broken = null;
  const exchange = (message) => {
    const bytes = encoder.encode(JSON.stringify(message));
    new Uint8Array(memory.buffer, exports.message_of(bytes.length), bytes.length).set(bytes);
    const length = exports.call();
    return new Uint8Array(memory.buffer, exports.answer(), length);
  };
  return {
    /** Sends a message; returns its result, and the payload as bytes. */
    call(message) {
      if (broken) throw broken;
      let answer;
      try {
        answer = exchange(message);
      } catch (trap) {
        // After a trap the memory of the module may be inconsistent: it is not used again.
        broken = new LabError({ message: `the lab has ended: ${trap.message}`, isFatal: true, during: message, printed: system.lastLines() });
        throw broken;
      }
      const end = answer.indexOf(10);
      const { result, error } = JSON.parse(decoder.decode(answer.subarray(0, end)));
      if (error) throw new LabError(error);
      return { result, payload: answer.slice(end + 1) };
    },
    /** How many bytes of memory it uses. */
    bytes: () => memory.buffer.byteLength,
  };
}
