// What can fail. Each message is one sentence about the problem, and what to do.

export class CoracleError extends Error {
  get name() { return this.constructor.name; }
}

/** The program is missing, or cannot run here. */
export class BinaryError extends CoracleError {}

/** The server did not start, or has ended. */
export class StartError extends CoracleError {}

/** The control endpoint refused a request with a Status of meta/v1. */
export class ApiError extends CoracleError {
  constructor(code, reason, message) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

/** `clock.until`: the object did not hold in time. The message has what was found. */
export class NotMet extends ApiError {}

/** `settle`: something still moves. */
export class NotSettled extends CoracleError {
  constructor(lastChange, pending) {
    const found = lastChange ? [`the last change was ${lastChange}`, ...pending] : pending;
    super(`the cluster did not settle: ${found.join('; ')}`);
    this.lastChange = lastChange;
    this.pending = pending;
  }
}
