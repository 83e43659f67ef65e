// What the JavaScript client does with a cluster: every claim is a test's name. The cluster is the one of KUBECONFIG.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Writable } from 'node:stream';
import * as k8s from '@kubernetes/client-node';

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const apps = config.makeApiClient(k8s.AppsV1Api);
const leases = config.makeApiClient(k8s.CoordinationV1Api);
const objects = k8s.KubernetesObjectApi.makeApiClient(config);
let namespace;

before(async () => {
  const made = await core.createNamespace({ body: { metadata: { generateName: 'javascript-' } } });
  namespace = made.metadata.name;
});

after(() => core.deleteNamespace({ name: namespace }));

async function eventually(what, ask) {
  for (const end = Date.now() + 30_000; Date.now() < end; await sleep(50)) {
    const answer = await ask();
    if (answer) return answer;
  }
  assert.fail(`${what}: not within 30 s`);
}

const refused = (code, promise) => assert.rejects(promise, (error) => error.code === code);
const configMap = (name, data) => ({
  apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels: { app: name } }, data,
});

test('an object lives through every verb while a watch looks on', async () => {
  const seen = [];
  const start = (await core.listNamespacedConfigMap({ namespace })).metadata.resourceVersion;
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const query = { labelSelector: 'app=m', resourceVersion: start };
  const watching = await new k8s.Watch(config).watch(path, query, (type) => seen.push(type), () => {});

  const made = await core.createNamespacedConfigMap({ namespace, body: configMap('m', { a: '1' }) });
  await refused(409, core.createNamespacedConfigMap({ namespace, body: configMap('m', {}) }));
  made.data.a = '2';
  await core.replaceNamespacedConfigMap({ name: 'm', namespace, body: made });
  await refused(409, core.replaceNamespacedConfigMap({ name: 'm', namespace, body: made }));
  const patch = (strategy, body) => core.patchNamespacedConfigMap(
    { name: 'm', namespace, body, fieldManager: 'applier' }, k8s.setHeaderOptions('Content-Type', strategy));
  await patch(k8s.PatchStrategy.JsonPatch, [{ op: 'add', path: '/data/json', value: 'y' }]);
  await patch(k8s.PatchStrategy.MergePatch, { data: { merge: 'y', a: null } });
  await patch(k8s.PatchStrategy.StrategicMergePatch, { data: { strategic: 'y' } });
  const applied = await patch(k8s.PatchStrategy.ServerSideApply, configMap('m', { applied: 'y' }));
  assert.deepEqual(applied.data, { json: 'y', merge: 'y', strategic: 'y', applied: 'y' });
  const list = await core.listNamespacedConfigMap({ namespace, fieldSelector: 'metadata.name=m' });
  assert.equal(list.items.length, 1);
  await core.deleteNamespacedConfigMap({ name: 'm', namespace });
  await refused(404, core.readNamespacedConfigMap({ name: 'm', namespace }));
  await eventually('the watch has seen it all', () => seen.length === 7);
  assert.deepEqual(seen, ['ADDED', ...Array(5).fill('MODIFIED'), 'DELETED']);
  watching.abort();
});

test('an apply of generic objects conflicts with its fellow, and can be forced', async () => {
  const ssa = k8s.PatchStrategy.ServerSideApply;
  const apply = (value, manager, force) =>
    objects.patch(configMap('applied', { a: value }), undefined, undefined, manager, force, ssa);
  const first = await apply('1', 'one');
  assert.deepEqual(first.metadata.managedFields.map((entry) => entry.manager), ['one']);
  await refused(409, apply('2', 'two'));
  assert.equal((await apply('2', 'two', true)).data.a, '2');
});

test('an informer follows what is written', async () => {
  const list = () => core.listNamespacedConfigMap({ namespace, labelSelector: 'app=i' });
  const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, list, 'app=i');
  const seen = [];
  for (const event of ['add', 'update', 'delete']) informer.on(event, (object) => seen.push(`${event} ${object.metadata.name}`));
  informer.on('error', (error) => seen.push(`error ${error}`));
  await core.createNamespacedConfigMap({ namespace, body: configMap('i', { a: '1' }) });
  await informer.start();
  await core.replaceNamespacedConfigMap({ name: 'i', namespace, body: configMap('i', { a: '2' }) });
  await core.deleteNamespacedConfigMap({ name: 'i', namespace });
  await eventually('the informer has heard it all', () => seen.length === 3);
  assert.deepEqual(seen, ['add i', 'update i', 'delete i']);
  assert.equal(informer.list().length, 0);
  await informer.stop();
});

test('a deployment runs, scales and logs', async () => {
  const labels = { app: 'web' };
  await objects.create({
    apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace },
    spec: {
      replicas: 2, selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'nginx' }] } },
    },
  });
  const read = () => apps.readNamespacedDeployment({ name: 'web', namespace });
  await eventually('two pods are ready', async () => (await read()).status.readyReplicas === 2);
  const pods = await core.listNamespacedPod({ namespace, labelSelector: 'app=web' });
  assert.equal(pods.items.length, 2);
  let text = '';
  const sink = new Writable({ write: (chunk, _, done) => { text += chunk; done(); } });
  await new k8s.Log(config).log(namespace, pods.items[0].metadata.name, 'c', sink);
  await eventually('there are logs', () => text.length > 0);
  const scale = await apps.readNamespacedDeploymentScale({ name: 'web', namespace });
  assert.equal(scale.spec.replicas, 2);
  await apps.patchNamespacedDeploymentScale({ name: 'web', namespace, body: { spec: { replicas: 0 } } },
    k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch));
  await eventually('no pod is left', async () => (await core.listNamespacedPod({ namespace })).items.length === 0);
  await apps.deleteNamespacedDeployment({ name: 'web', namespace });
});

test('a custom kind is defined and written', async () => {
  const extensions = config.makeApiClient(k8s.ApiextensionsV1Api);
  const name = 'gizmos.javascript.example.com';
  const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', properties: { size: { type: 'integer', _default: 3 } } } } };
  await extensions.createCustomResourceDefinition({ body: {
    metadata: { name },
    spec: {
      group: 'javascript.example.com', scope: 'Namespaced', names: { plural: 'gizmos', kind: 'Gizmo' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  } });
  await eventually('the definition is established', async () => {
    const { status } = await extensions.readCustomResourceDefinition({ name });
    return status?.conditions?.some((condition) => condition.type === 'Established' && condition.status === 'True');
  });
  const made = await objects.create({ apiVersion: 'javascript.example.com/v1', kind: 'Gizmo', metadata: { name: 'g', namespace }, spec: {} });
  assert.deepEqual(made.spec, { size: 3 });
  const list = await objects.list('javascript.example.com/v1', 'Gizmo', namespace);
  assert.deepEqual(list.items.map((item) => item.metadata.name), ['g']);
  await objects.delete(made);
  await extensions.deleteCustomResourceDefinition({ name });
});

test('of two candidates one holds the lease, and the other takes over when it is given up', async () => {
  const body = { metadata: { name: 'lead' }, spec: { holderIdentity: 'first', leaseDurationSeconds: 15, renewTime: new k8s.V1MicroTime() } };
  const held = await leases.createNamespacedLease({ namespace, body });
  await refused(409, leases.createNamespacedLease({ namespace, body }));
  held.spec.renewTime = new k8s.V1MicroTime();
  const renewed = await leases.replaceNamespacedLease({ name: 'lead', namespace, body: held });
  held.spec.holderIdentity = 'second';
  await refused(409, leases.replaceNamespacedLease({ name: 'lead', namespace, body: held }));
  renewed.spec.holderIdentity = 'second';
  renewed.spec.leaseTransitions = 1;
  const taken = await leases.replaceNamespacedLease({ name: 'lead', namespace, body: renewed });
  assert.equal(taken.spec.holderIdentity, 'second');
});
