// Requests to the control endpoint, with the address and the token of a kubeconfig.
import { request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { VERSION } from './binary.js';
import { ApiError, NotMet, StartError } from './errors.js';

/** Milliseconds for which a request is repeated that got 503, as all requests do while a reset runs. */
const RETRIED_FOR = 60_000;

/** The control endpoint of one API server. Each request has a connection of its own, because a reset ends them. */
export class Connection {
  #options;
  #explain;

  /** `kubeconfig` is the text of one that Coracle wrote. `explain` returns why the server may not answer. */
  constructor(kubeconfig, explain = () => '') {
    this.server = field(kubeconfig, 'server');
    const { hostname, port } = new URL(this.server);
    const headers = { Authorization: `Bearer ${field(kubeconfig, 'token')}`, 'User-Agent': `coracle-js/${VERSION}` };
    const ca = Buffer.from(field(kubeconfig, 'certificate-authority-data'), 'base64');
    this.#options = { hostname, port, headers, ca, agent: false };
    this.#explain = explain;
  }

  async json(method, path, body) {
    return JSON.parse(await this.text(method, path, body));
  }

  /** The body of the answer. Rejects with ApiError if it is a Status, and with StartError if no server answers. */
  async text(method, path, body) {
    const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    for (const end = Date.now() + RETRIED_FOR; ;) {
      const { code, retryAfter, answer } = await this.#send(method, path, sent);
      if (code < 400) return answer;
      if (code !== 503 || !retryAfter || Date.now() > end) throw errorOf(code, answer);
      await sleep(50);
    }
  }

  async #send(method, path, body) {
    try {
      return await new Promise((resolve, reject) => {
        const headers = { ...this.#options.headers, 'Content-Type': 'application/json' };
        const asked = request({ ...this.#options, method, path: `/coracle/v1${path}`, headers }, async (response) => {
          try {
            const parts = [];
            for await (const part of response) parts.push(part);
            const answer = Buffer.concat(parts).toString();
            resolve({ code: response.statusCode, retryAfter: response.headers['retry-after'], answer });
          } catch (error) {
            reject(error);
          }
        });
        asked.on('error', reject);
        asked.end(body);
      });
    } catch (error) {
      const why = this.#explain() || `${error.message}; start another one`;
      throw new StartError(`the server at ${this.server} does not answer: ${why}`, { cause: error });
    }
  }
}

function field(kubeconfig, name) {
  const found = new RegExp(`^ *${name}: (\\S+)$`, 'm').exec(kubeconfig);
  if (!found) throw new TypeError(`the kubeconfig has no \`${name}\`: use one that Coracle wrote`);
  return found[1];
}

function errorOf(code, answer) {
  let status = {};
  try {
    status = JSON.parse(answer);
  } catch {
    status = { message: answer.trim() };
  }
  if (code === 404 && !status.reason) {
    status.message = 'this API server has no control endpoint: start it with `coracle up` of the version of this package';
  }
  return new (code === 408 ? NotMet : ApiError)(code, status.reason ?? '', status.message || `HTTP ${code}`);
}
