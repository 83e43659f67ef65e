// The lab for a page: a worker, its messages as promises, and an end for work that does not end.

/** How long a message may take, in milliseconds, if the caller does not say it. */
const PATIENCE = 60_000;

/** Starts a lab in a worker: `start` is the address of the module or its bytes. */
export function openLab(worker, start) {
  const waiting = new Map();
  let next = 1, ended = null, ready = null;
  const isReady = new Promise((resolve, reject) => (ready = { resolve, reject }));
  const end = (detail) => {
    ended = Object.assign(new Error(detail.message), { detail });
    worker.terminate();
    for (const { reject } of waiting.values()) reject(ended);
    waiting.clear();
    ready.reject(ended);
  };
  worker.onmessage = ({ data }) => {
    if ("ready" in data) return data.ready ? ready.resolve() : end(data.error);
    const one = waiting.get(data.id);
    if (!one) return;
    waiting.delete(data.id);
    clearTimeout(one.timer);
    if (!data.error) return one.resolve({ result: data.result, payload: data.payload });
    if (data.error.isFatal) end(data.error);
    one.reject(Object.assign(new Error(data.error.message), { detail: data.error }));
  };
  worker.onerror = (event) => end({ message: event.message || "the worker of the lab has failed", isFatal: true });
  worker.postMessage({ start });
  return {
    isReady,
    /** Sends a message. A lab that does not answer in time is ended, and the error says during which message. */
    call(message, patience = PATIENCE) {
      if (ended) return Promise.reject(ended);
      const id = next++;
      return new Promise((resolve, reject) => {
        const late = () => end({ message: `the lab has not answered ${message.do} within ${patience} ms, and was ended`, isFatal: true, during: message });
        waiting.set(id, { resolve, reject, timer: setTimeout(late, patience) });
        worker.postMessage({ ...message, id });
      });
    },
    /** Ends the lab with all its clusters. */
    end: () => end({ message: "the lab was ended", isFatal: true }),
  };
}
