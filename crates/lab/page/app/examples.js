// Texts to begin with, for the editor.

const workload = (kind, name, more = []) => [
  "apiVersion: apps/v1", `kind: ${kind}`, "metadata:", `  name: ${name}`, "spec:", ...more, "  selector:", "    matchLabels:", `      app: ${name}`,
  "  template:", "    metadata:", "      labels:", `        app: ${name}`, "    spec:", "      containers:", `      - name: ${name}`, "        image: nginx:1.29",
];

/** The texts by their names; the first one is what the editor begins with. */
export const EXAMPLES = {
  "Deployment": workload("Deployment", "web", ["  replicas: 3"]),
  "Service": ["apiVersion: v1", "kind: Service", "metadata:", "  name: web", "spec:", "  selector:", "    app: web", "  ports:", "  - port: 80", "    targetPort: 8080"],
  "StatefulSet": workload("StatefulSet", "db", ["  serviceName: db", "  replicas: 2"]),
  "DaemonSet": workload("DaemonSet", "agent"),
  "Job": ["apiVersion: batch/v1", "kind: Job", "metadata:", "  name: once", "spec:", "  completions: 3", "  template:", "    spec:", "      restartPolicy: Never", "      containers:", "      - name: once", "        image: busybox:1.37", "        command: [\"sh\", \"-c\", \"echo done\"]"],
  "PodDisruptionBudget": ["apiVersion: policy/v1", "kind: PodDisruptionBudget", "metadata:", "  name: web", "spec:", "  minAvailable: 2", "  selector:", "    matchLabels:", "      app: web"],
  "ConfigMap and Pod": ["apiVersion: v1", "kind: ConfigMap", "metadata:", "  name: settings", "data:", "  colour: blue", "---", "apiVersion: v1", "kind: Pod", "metadata:", "  name: reader", "spec:", "  containers:", "  - name: reader", "    image: nginx:1.29", "    envFrom:", "    - configMapRef:", "        name: settings"],
  "a step: delete a pod": ["- delete:", "    ref: {apiVersion: v1, kind: Pod, labels: {app: web}}", "    pick: 1"],
  "a step: scale and wait": ["- scale:", "    ref: {apiVersion: apps/v1, kind: Deployment, name: web}", "    replicas: 5", "- assert:", "    cel: pods.filter(p, p.status.phase == 'Running').size() == 5"],
  "a fault: a late watch": ["- do: {lag: 10s, kind: Pod, to: scheduler}", "  for: 2m"],
  "a fault: a lost answer": ["- when: {by: controller-manager/replicaset, verb: create, resource: pods}", "  do: {lose: answer}"],
  "a scenario": [
    "apiVersion: coracle.dev/v1alpha1", "kind: Scenario", "metadata:", "  name: mine", "spec:", "  cluster:", "    nodes: 2", "  steps:", "  - name: three replicas", "    try:", "    - create:", "        resource:",
    ...workload("Deployment", "web", ["  replicas: 3"]).map((line) => `          ${line}`),
    "    - assert:", "        cel: pods.filter(p, p.status.phase == 'Running').size() == 3",
    "  - name: one is deleted", "    try:", "    - delete: {ref: {apiVersion: v1, kind: Pod, labels: {app: web}}, pick: 1}", "    - assert:", "        cel: pods.filter(p, p.status.phase == 'Running').size() == 3",
  ],
};

export const textOf = (name) => `${EXAMPLES[name].join("\n")}\n`;
