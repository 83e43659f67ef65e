// What a started cluster offers, with the client @kubernetes/client-node: every claim is a test's name.
import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { after, before, beforeEach, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import * as k8s from '@kubernetes/client-node';
import { ApiError, CoracleError, NotMet, start } from '@coracle/testing';

const namespace = 'default';
const POD = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace } };
const containers = [{ name: 'c', image: 'nginx' }];
let cluster;

function clients(of = cluster) {
  const config = new k8s.KubeConfig();
  config.loadFromFile(of.kubeconfig);
  return { config, core: config.makeApiClient(k8s.CoreV1Api), apps: config.makeApiClient(k8s.AppsV1Api) };
}

const createMap = (name, of) => clients(of).core.createNamespacedConfigMap({ namespace, body: { metadata: { name } } });

async function maps(of) {
  const { items } = await clients(of).core.listNamespacedConfigMap({ namespace });
  return items.map(({ metadata }) => metadata.name).filter((name) => name !== 'kube-root-ca.crt');
}

const createPod = () => clients().core.createNamespacedPod({ namespace, body: { ...POD, spec: { containers } } });

function runOf(page) {
  const [, run] = /<script id="run"[^>]*>([^<]+)/.exec(readFileSync(page, 'utf8'));
  return gunzipSync(Buffer.from(run, 'base64')).toString();
}

before(async () => { cluster = await start(); });
beforeEach(() => cluster.startOver());
after(() => cluster.stop());

test('the clock stands still and advances by a text or by milliseconds', async () => {
  const begin = await cluster.clock.now();
  assert.deepEqual(await cluster.clock.now(), begin);
  await cluster.clock.advance('1m');
  const now = await cluster.clock.advance(30_000);
  assert.equal(now - begin, 90_000);
});

test('settle runs a pod', async () => {
  await createPod();
  const { revision } = await cluster.settle();
  const pod = await clients().core.readNamespacedPod({ namespace, name: 'web' });
  assert.equal(pod.status.phase, 'Running');
  assert.ok(revision >= Number(pod.metadata.resourceVersion));
});

test('until advances until an object holds, or until there is no such object', async () => {
  await createPod();
  const advanced = await cluster.clock.until({ ...POD, status: { phase: 'Running' } }, { within: '1m' });
  assert.ok(advanced > 0 && advanced < 60_000, `${advanced} ms`);
  await clients().core.deleteNamespacedPod({ namespace, name: 'web' });
  await cluster.clock.until(POD, { within: '5m', absent: true });
  assert.deepEqual((await clients().core.listNamespacedPod({ namespace })).items, []);
});

test('until names what it found', () => assert.rejects(cluster.clock.until(POD, { within: 60_000 }), (error) => {
  assert.ok(error instanceof NotMet);
  assert.equal(error.message, 'not within 1m0s: expected Pod web in default; found no such object');
  return true;
}));

test('a deployment becomes available while an informer sees its pods', async () => {
  const { config, core, apps } = clients();
  const names = new Set();
  const list = () => core.listNamespacedPod({ namespace });
  const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/pods`, list);
  informer.on('add', ({ metadata }) => names.add(metadata.name));
  await informer.start();
  const labels = { app: 'web' };
  const spec = { replicas: 3, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } };
  await apps.createNamespacedDeployment({ namespace, body: { metadata: { name: 'web' }, spec } });
  const wanted = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace } };
  await cluster.clock.until({ ...wanted, status: { availableReplicas: 3 } }, { within: '5m' });
  await cluster.until(() => names.size === 3);
  await informer.stop();
  const [name] = names;
  assert.match(await cluster.why(`pod/default/${name}`), /controller-manager\/replicaset/);
});

for (const round of [1, 2]) {
  test(`each test starts with the same cluster: ${round}`, async () => {
    assert.deepEqual([await maps(), (await cluster.snapshots()).map(({ name }) => name)], [[], ['start']]);
    await createMap('left');
    await cluster.snapshot('left');
    await cluster.fault({ lag: '5s', kind: 'Pod', to: 'nothing' });
    await cluster.fork();
  });
}

test('a reset returns to a snapshot at a higher revision', async () => {
  await createMap('kept');
  const kept = await cluster.snapshot('kept');
  await createMap('lost');
  assert.ok(await cluster.reset(kept) > kept.revision);
  assert.deepEqual(await maps(), ['kept']);
});

test('a fork has a clock and objects of its own', async () => {
  await createMap('both');
  const fork = await cluster.fork();
  await createMap('fork', fork);
  await fork.clock.advance('10m');
  assert.deepEqual([await maps(fork), await maps()], [['both', 'fork'], ['both']]);
  assert.ok(await fork.clock.now() - await cluster.clock.now() >= 600_000);
  await fork.stop();
  await assert.rejects(fork.clock.now(), CoracleError);
});

test('a fault strikes until it is removed', async () => {
  const fault = await cluster.fault({ refuse: 503 }, { by: 'kubernetes-admin', verb: 'create', resource: 'configmaps' });
  await assert.rejects(createMap('a'), ({ code }) => code === 503);
  assert.equal(await fault.struck(), 1);
  await fault.remove();
  await createMap('a');
  assert.deepEqual([await cluster.faults(), await maps()], [[], ['a']]);
});

test('a fault with an unknown word names it', () => assert.rejects(
  cluster.fault({ loose: 'answer' }), (error) => error instanceof ApiError && error.code === 422 && /loose/.test(error.message)));

test('check decides claims', async () => {
  const { holds, claims } = await cluster.check('nodes.size() == 2', { name: 'a pod', cel: 'pods.size() == 1' });
  assert.deepEqual([holds, claims.map((claim) => claim.holds)], [false, [true, false]]);
});

test('a failure has the path of the page of its run', async () => {
  const failure = cluster.reported('what fails', async () => {
    await createMap('the-last-one');
    assert.equal(1, 2);
  });
  const error = await failure.catch((problem) => problem);
  const [, page] = /the page of the run: (\S+)/.exec(error.message);
  assert.match(runOf(page), /the-last-one/);
  assert.ok((await cluster.events()).length > 0);
  rmSync('coracle-reports', { recursive: true });
});

test('until with a function names the last answer', () => assert.rejects(
  cluster.until(() => 0, '50ms'), /not within 50ms of real time; the last call gave 0/));

test('options select nodes, a release and real time', async () => {
  const other = await start({ nodes: 1, kubernetes: '1.36', time: 'real' });
  try {
    assert.equal((await other.info()).kubernetes, '1.36');
    const { items } = await clients(other).core.listNode();
    assert.deepEqual(items.map(({ status }) => status.conditions.find(({ type }) => type === 'Ready').status), ['True']);
    await assert.rejects(other.clock.advance('1h'), ({ code }) => code === 409);
  } finally {
    await other.stop();
  }
});
