"""Bodies of each structure for each verb of each kind: what a request may cost in CPU and memory."""

import http.client
import json
import random
import re
import ssl
import time

from cluster import NAMESPACE, Cluster, load_of_machine
from crafted import FAMILIES
from inflate import RAW, as_yaml, compact, inflated, places, protobuf, put
from kinds import HOSTILE, NEEDS, published, resolved, valid

SIZES = (3_000, 100_000, 700_000, 1_400_000, 2_900_000, 2_900_000)
MOST_BODY = 3_000_000
PROTOBUF = "application/vnd.kubernetes.protobuf"
PATCHES = ("application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json",
           "application/apply-patch+yaml", "apply in YAML")
# Kubernetes answers 500 to an apply of what the schema does not have.
KUBERNETES_500 = re.compile(rb"The order in patch list|strconv\.ParseUint|has no API that this server can reach|parsing time|failed to create typed (patch|live) object|failed to convert|failed to prune fields")
# Verbs that have a body; a patch is tried in each of its types.
VERBS = {"post", "put", "patch", "delete", "deletecollection", "connect"}


class World:
    """A cluster with an object `a` of each kind, and what its documents say."""

    def __init__(self):
        self.cluster = Cluster()
        try:
            self.cluster.users()
            self.cluster.must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", HOSTILE)
            for _ in range(100):
                self.operations, self.schemas = published(self.cluster)
                if any(each.kind == "Hostile" for each in self.operations):
                    break
                time.sleep(0.1)
            self.valid_kinds, self.invalid_kinds = [], []
            self.creations = {}
            for operation in self.operations:
                if operation.action == "post" and not operation.named:
                    self.creations.setdefault(self.collection(operation), operation)
            for operation in self.creations.values():
                self.create(operation)
            data = "a" * 10_000
            for number in range(100):
                self.cluster.must("POST", f"/api/v1/namespaces/{NAMESPACE}/configmaps", {"metadata": {"name": f"filler-{number}"}, "data": {"a": data}})
            self.cluster.must("POST", f"/api/v1/namespaces/{NAMESPACE}/configmaps", {"metadata": {"name": "patched"}, "data": {"a": "a"}})
            self.idle = self.cluster.idle_rate(2)
        except BaseException:
            self.cluster.stop()
            raise
        self.places, self.encoded = {}, {}
        self.answer = b""
        self.tried = [
            (operation, content) for operation in self.operations if operation.action in VERBS
            for content in (PATCHES if operation.action == "patch" else ("application/json",))]
        random.Random(0).shuffle(self.tried)

    def collection(self, operation):
        return operation.template.replace("{namespace}", NAMESPACE).split("/{name}")[0]

    def object(self, operation):
        """A valid object of the kind that the operation's collection holds, or of the body's own kind."""
        creation = self.creations.get(self.collection(operation))
        if operation.action in ("delete", "deletecollection"):
            return {"apiVersion": "v1", "kind": "DeleteOptions"}
        if operation.kind not in NEEDS and creation and operation.subresource in ("status", "ephemeralcontainers", "resize", "finalize", "approval"):
            operation = creation
        made = valid(operation.kind, operation.version, operation.schema, self.schemas, namespaced="{namespace}" in operation.template)
        if operation.subresource:
            made["metadata"]["name"] = "a"
            if operation.kind in ("Scale", "Eviction", "Binding", "TokenRequest"):
                made["metadata"]["namespace"] = NAMESPACE
        return made

    def create(self, operation):
        if operation.kind.endswith("Review"):
            return
        body = self.object(operation)
        status, answer = self.cluster.json("POST", self.collection(operation), body)
        if status in (200, 201, 409):
            self.valid_kinds.append(operation.kind)
        else:
            self.invalid_kinds.append(f"{operation.version} {operation.kind}: {answer.get('message')}")

    def restore(self, operation):
        """Puts the object `a` of the collection back as it was."""
        creation = self.creations.get(self.collection(operation))
        if creation and not creation.kind.endswith("Review"):
            body = self.object(creation)
            path = f"{self.collection(operation)}/{body['metadata']['name']}"
            self.cluster.send("PATCH", path, {"metadata": {"finalizers": None}}, content="application/merge-patch+json")
            self.cluster.send("DELETE", path + "?gracePeriodSeconds=0")
            for _ in range(100):
                if self.cluster.send("POST", self.collection(operation), body)[0] != 409:
                    break
                time.sleep(0.05)

    def places_of(self, schema):
        if schema not in self.places:
            self.places[schema] = places({"$ref": "/" + schema}, self.schemas) if schema else []
        return self.places[schema]

    def protobuf_of(self, operation, body):
        """The object as the server writes it in protobuf, or None if the kind has none."""
        key = (operation.template, operation.method)
        if key not in self.encoded:
            path = self.path(operation)
            status, data = self.cluster.send(operation.method, path + "?dryRun=All", body, more={"Accept": PROTOBUF})
            self.encoded[key] = data if status in (200, 201) and data[:4] == b"k8s\0" else None
        return self.encoded[key]

    def path(self, operation):
        name = self.object(operation).get("metadata", {}).get("name", "a")
        if operation.action in ("delete", "connect") or operation.subresource:
            creation = self.creations.get(self.collection(operation))
            name = self.object(creation)["metadata"]["name"] if creation else "a"
        return operation.template.replace("{namespace}", NAMESPACE).replace("{name}", name).replace("{path}", "a")


class Case:
    def __init__(self, what, requests, kept=None):
        self.what, self.requests, self.kept = what, requests, kept


def drawn(world, seed, number):
    """The cases of a number: by turns a verb of a kind, three times of four, and one that is costly for a reason of its own."""
    rng = random.Random(f"{seed} {number}")
    budget = rng.choice(SIZES)
    if number % 4 == 3:
        family = FAMILIES[number // 4 % len(FAMILIES)]
        return [Case(f"{family.__name__}: {what}, {budget} bytes", requests) for what, requests in family(rng, budget)]
    turn = number // 4 * 3 + number % 4
    operation, content = world.tried[(turn + random.Random(seed).randrange(len(world.tried))) % len(world.tried)]
    return [by_structure(world, rng, operation, content, budget)]


def by_structure(world, rng, operation, content, budget):
    body, schema = world.object(operation), operation.schema
    if operation.action == "connect":
        return Case(f"{operation.method} {world.path(operation)}, a body of {budget} bytes", [(operation.method, world.path(operation), None, "a" * budget, "admin")])
    if operation.action == "patch":
        found = world.creations.get(world.collection(operation))
        put_of = next((each for each in world.operations if each.template == operation.template and each.action == "put"), found)
        schema = put_of.schema if put_of else None
        body = world.object(put_of) if put_of else body
    query, what = [], []
    dry = rng.random() < 0.7 or operation.kind in ("PriorityLevelConfiguration", "FlowSchema")
    if dry:
        query.append("dryRun=All")
    if rng.random() < 0.2:
        query.append("fieldValidation=Strict")
    template = world.places_of(schema)
    text = None
    form = rng.choice(("json", "json", "json", "protobuf", "yaml", "yaml blocks", "aliases"))
    if operation.action in ("post", "put") and form == "protobuf":
        encoded = world.protobuf_of(operation, body)
        if encoded:
            name, data = protobuf(rng, encoded, budget)
            return finished(world, operation, PROTOBUF, query, name, data, dry)
    for _ in range(rng.choice((1, 1, 2)) if template else 0):
        place = rng.choice(template)
        lists = sum(step == "[]" for step in place)
        spread = rng.choice((1, 1, 30, 1000)) if lists else 1
        share = max(200, budget // spread ** min(lists, 2)) if spread > 1 else budget
        here = {}

        def leaf(schema, here=here, share=share):
            here["what"], value, here["text"] = inflated(rng, resolved(schema, world.schemas), world.schemas, share)
            return value

        changed = put(body, {"$ref": "/" + schema}, world.schemas, place, leaf, spread if lists < 3 else 1)
        if len(compact(changed)) + len(here.get("text") or "") > MOST_BODY:
            continue
        body, text = changed, here["text"] or text
        what.append(f"{'.'.join(place)}{f' x {spread}' if spread > 1 else ''}: {here['what']}")
    if operation.action == "patch":
        if content == PATCHES[0]:
            body = [{"op": rng.choice(("add", "replace", "test")), "path": "/" + field, "value": value} for field, value in body.items() if field not in ("apiVersion", "kind", "metadata")]
            body = body * rng.choice((1, 3)) or [{"op": "test", "path": "", "value": {}}]
        if content in PATCHES[3:]:
            query.append("fieldManager=hostile&force=true")
    kind = PATCHES[3] if content == "apply in YAML" else content
    if content == "apply in YAML" or operation.action in ("post", "put") and form.startswith(("yaml", "aliases")):
        kind = kind if operation.action == "patch" else "application/yaml"
        if form == "aliases" and text is None:
            item = next((each for each in body.get("spec", body).values() if isinstance(each, list) and each), None) if isinstance(body.get("spec", body), dict) else None
            if item:
                body, text = json.loads(compact(body)), "[&a " + compact(item[0]) + ", *a" * (budget // 4) + "]"
                holder = body.get("spec", body)
                holder[next(field for field, each in holder.items() if isinstance(each, list) and each)] = RAW
                what.append("aliases of its first item")
        data = "".join(as_yaml(body)) if form == "yaml blocks" or content == "apply in YAML" and form != "aliases" else compact(body)
        kind_name = "YAML"
    else:
        data, kind_name = compact(body), "JSON"
    if text is not None:
        data = data.replace(f'"{RAW}"', text).replace(RAW, "a")
    return finished(world, operation, kind, query, f"{kind_name}, {'; '.join(what) or 'nothing inflated'}", data, dry)


def finished(world, operation, content, query, what, data, dry):
    path = world.path(operation) + ("?" + "&".join(query) if query else "")
    method, target = operation.method, path
    return Case(f"{method} {path} {content}, {what}, {len(data)} bytes", [(method, target, content, data, "admin")], None if dry else operation)


def measured(world, request):
    """Sends a request: the status of the answer, seconds of CPU and bytes of memory until the server is calm again."""
    cluster = world.cluster
    cluster.settle()
    cluster.forget_peak()
    memory, cpu, start = cluster.memory(), cluster.cpu(), time.monotonic()
    method, path, content, body, user = request
    more = content if isinstance(content, dict) else None
    try:
        status, answer = cluster.send(method, path, body, user=user, content="application/json" if more or content is None else content, more=more)
        world.answer = answer[:300]
        if status == 500 and KUBERNETES_500.search(answer):
            status = "500 as Kubernetes"
    except (OSError, http.client.HTTPException) as error:
        # A server may answer and close before it has read a body that it refuses unread.
        early = isinstance(error, (ssl.SSLError, ConnectionError)) and body and len(body) > 256 << 10 and cluster.ready()
        status = "closed early" if early else f"{type(error).__name__}: {error}"
    cluster.settle(patience=60, calm=0.05)
    seconds = time.monotonic() - start
    return status, cluster.cpu() - cpu - world.idle * seconds, cluster.memory("VmHWM") - memory, seconds


def costs(world, case):
    """The costliest request of a case, as (CPU, memory, status, position)."""
    found = []
    for position, request in enumerate(case.requests):
        status, cpu, memory, _ = measured(world, request)
        found.append((status, cpu, memory, position))
        if not world.cluster.alive():
            break
    if case.kept is not None and world.cluster.alive():
        world.restore(case.kept)
    return found


def above(cost, cpu, memory):
    status, used, bytes_, _ = cost
    return used > cpu or bytes_ > memory or status == 500 or isinstance(status, str) and status not in ("500 as Kubernetes", "closed early")


def run(options):
    started = time.monotonic()
    only = [int(each) for each in options.only.split(",")] if options.only else None
    world = World()
    try:
        print(f"seed {options.seed}; load of the machine {load_of_machine()}; idle {world.idle * 1000:.1f} ms of CPU a second")
        print(f"{len(world.operations)} operations, {len(world.tried)} verbs with a body of {len({each.kind for each, _ in world.tried})} kinds; "
              f"{len(set(world.valid_kinds))} kinds have a valid object; CBOR is answered {world.cluster.send('POST', '/api/v1/namespaces', b'', content='application/cbor')[0]}")
        for each in world.invalid_kinds:
            print(f"  no valid object of {each}")
        statuses, worst, faults, number, requests = {}, [], [], 0, 0
        while (only and number < len(only)) or (not only and time.monotonic() - started < options.seconds):
            at = only[number] if only else options.first + number
            for turn, case in enumerate(drawn(world, options.seed, at)):
                if options.verbose:
                    print(f"  {at}.{turn} {case.what}", flush=True)
                results = costs(world, case)
                requests += len(results)
                for result in results:
                    statuses[result[0]] = statuses.get(result[0], 0) + 1
                    worst.append((result[1], result[2], at, turn, result[3], result[0], case.what))
                    if options.verbose:
                        print(f"    {result[0]} {result[1]:.2f} s {result[2] / 1e6:.0f} MB", flush=True)
                    if above(result, options.cpu, options.memory * 1e6):
                        faults.append(report(world, options, at, turn, case, result))
                if not world.cluster.alive():
                    print(f"THE SERVER ENDED at --only {at}: {case.what}\n{world.cluster.last_words()}")
                    world.cluster.stop()
                    world = World()
            number += 1
    finally:
        world.cluster.stop()
    print(f"{number} numbers, {requests} requests in {time.monotonic() - started:.0f} s; answers: " + ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items(), key=str)))
    print(f"most CPU {max(each[0] for each in worst):.2f} s, most memory {max(each[1] for each in worst) / 1e6:.0f} MB; load of the machine {load_of_machine()}")
    for title, key in (("CPU", 0), ("memory", 1)):
        print(f"the costliest by {title}:")
        for cpu, memory, at, turn, position, status, what in sorted(worst, key=lambda each: -each[key])[:10]:
            print(f"  {cpu:6.2f} s {memory / 1e6:6.0f} MB  --only {at} ({turn}.{position}) {status} {what}"[:400])
    if options.report:
        with open(options.report, "w") as file:
            json.dump({"seed": options.seed, "worst": sorted(worst, key=lambda each: -each[0])[:100], "faults": faults}, file, indent=1)
    print(f"{len(faults)} requests above {options.cpu} s or {options.memory} MB, or answered 500 or not at all: the bar {'DOES NOT HOLD' if faults else 'holds'}")
    return 1 if faults else 0


def report(world, options, at, turn, case, result):
    status, cpu, memory, position = result
    method, path, _, body, user = case.requests[position]
    line = f"ABOVE: {cpu:.2f} s, {memory / 1e6:.0f} MB, answered {status}: --seed {options.seed} --only {at} ({turn}.{position}) by {user}: {method} {path[:200]}: {case.what}"
    print(line[:700], flush=True)
    if status == 500:
        print(f"  {world.answer.decode(errors='replace')}")
    if options.keep and body is not None:
        with open(f"{options.keep}/{options.seed}-{at}-{turn}-{position}", "wb") as file:
            file.write(body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass"))
    return line
