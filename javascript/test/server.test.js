// How the program is found, checked, started and ended: every claim is a test's name.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { start, StartError } from '@coracle/testing';
import { find } from '../lib/binary.js';

const folder = mkdtempSync(join(tmpdir(), 'coracle-test-'));
after(() => rmSync(folder, { recursive: true }));
let scripts = 0;

function script(text, mode = 0o755) {
  const path = join(folder, `coracle-${scripts += 1}`);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

const finds = (path, expected) => assert.throws(() => find({ CORACLE_BIN: path }), expected);

test('a missing program is named with the three ways to have one', () => assert.throws(
  () => find({ PATH: folder }, undefined), /install @coracle\/\w+-\w+, put it on PATH, or set CORACLE_BIN/));

test('CORACLE_BIN comes before the carried program, and that before PATH', () => {
  const [named, carried] = [1, 2].map(() => script('#!/bin/sh\necho coracle 0.1.0\n'));
  assert.equal(find({ CORACLE_BIN: named, PATH: folder }, carried), named);
  assert.equal(find({ PATH: folder }, carried), carried);
});

test('CORACLE_BIN that names no file is named', () => finds('/no/such', /CORACLE_BIN names \/no\/such, which is not a file/));

test('a program that is not executable is named with the command', () => {
  const path = script('', 0o644);
  finds(path, { message: `${path} is not executable: run \`chmod +x ${path}\`` });
});

test('a program of another version names both', () => finds(
  script('#!/bin/sh\necho coracle 9.2.1\n'), /has version 9.2.1, and this package needs 0.1.0/));

test('a program that needs a newer glibc names it', () => finds(
  script('#!/bin/sh\ncat >&2 <<"END"\nversion `GLIBC_2.9\' not found\nversion `GLIBC_2.99\' not found\nEND\nexit 1\n'),
  /needs glibc 2.99, and this machine has/));

test('a program for another machine is named', () => finds(
  script(`\x7fELF${'\0'.repeat(60)}`), /is not a program for this machine \(linux \w+\)/));

test('another program is named with what it said', () => finds(
  script('#!/bin/sh\necho who is there\n'), /is not the program `coracle` \(who is there\)/));

test('a port in use is named', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address();
  await assert.rejects(start({ port }), (error) => error instanceof StartError
    && error.message.endsWith(`port ${port} is in use: choose another port, or 0 for a free one`));
  taken.close();
});

test('an unknown release and an unknown option are named', async () => {
  await assert.rejects(start({ kubernetes: '1.12' }), /did not start: .*1\.12/);
  await assert.rejects(start({ node: 1 }), /`node` is not an option of start: use nodes/);
});

test('stop ends the server and removes its folder', async () => {
  const cluster = await start({ nodes: 0 });
  const state = dirname(dirname(cluster.kubeconfig));
  assert.ok(existsSync(state) && cluster.isRunning);
  assert.ok((await cluster.fork()).kubeconfig.startsWith(state));
  await cluster.stop();
  await cluster.stop();
  assert.ok(!existsSync(state) && !cluster.isRunning);
  await assert.rejects(cluster.clock.now(), /does not answer: it was stopped/);
});

async function eventually(what, holds) {
  for (const end = Date.now() + 20_000; !holds(); await sleep(20)) assert.ok(Date.now() < end, what);
}

const program = (last) => `
  import { start } from '@coracle/testing';
  const cluster = await start({ nodes: 0 });
  console.log(cluster.kubeconfig);
  ${last}
`;

async function runs(last) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program(last)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  for await (const part of child.stdout.iterator({ destroyOnReturn: false })) {
    said += part;
    if (said.includes('\n')) break;
  }
  return { child, state: dirname(dirname(said.trim())) };
}

test('a killed parent leaves no folder', async () => {
  const { child, state } = await runs('setInterval(() => {}, 1000)');
  assert.ok(existsSync(state));
  child.kill('SIGKILL');
  await eventually(`${state} is there`, () => !existsSync(state));
});

test('a program that does not call stop ends all the same', async () => {
  const { child, state } = await runs('');
  await eventually('the program has not ended', () => child.exitCode === 0);
  await eventually(`${state} is there`, () => !existsSync(state));
});
