"""Bodies and reads that are costly for a reason of their own, each as the requests of a case."""

import json
from urllib.parse import quote, urlencode

from cluster import NAMESPACE, RBAC, basic
from kinds import LABELS, MATCHED, NEEDS, POD
from inflate import TEXTS, compact

CORE = f"/api/v1/namespaces/{NAMESPACE}"
REVIEWS = "/apis/authorization.k8s.io/v1"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
HOSTILES = f"/apis/hostile.example.com/v1/namespaces/{NAMESPACE}/hostiles"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
JSON, YAML, APPLY = "application/json", "application/yaml", "application/apply-patch+yaml"
MERGE, STRATEGIC, PATCH = "application/merge-patch+json", "application/strategic-merge-patch+json", "application/json-patch+json"


def post(path, body, content=JSON, user="admin", method="POST"):
    return method, path, content, body if isinstance(body, (str, bytes)) else compact(body), user


def many(budget, make):
    """As many of `make(number)` as the budget has room for."""
    return [make(number) for number in range(max(1, budget // (len(compact(make(99_999))) + 1)))]


def definition(schema, **version):
    made = json.loads(json.dumps(NEEDS["CustomResourceDefinition"]["spec"]))
    made["versions"][0].update(version, schema={"openAPIV3Schema": schema})
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "as.example.com"}, "spec": made}


def properties(budget, make):
    return {f"p{number}": each for number, each in enumerate(many(budget, make))}


def nested(depth, inner, wrap):
    for _ in range(depth):
        inner = wrap(inner)
    return inner


def definitions(rng, budget):
    word = lambda **more: {"type": "string", **more}
    rules = lambda rule, count: [{"rule": rule} for _ in range(count)]
    some = min(budget, 300_000)
    schemas = {
        "patterns": lambda: {"properties": properties(budget, lambda n: word(pattern=f"^[a-z{n}]{{1,60}}$"))},
        "patterns of classes": lambda: {"properties": properties(some, lambda n: word(pattern=rf"^(\w|\d|\p{{L}}{n}){{1,250}}$"))},
        "one long pattern": lambda: {"properties": {"a": word(pattern="(a|b)*" * (budget // 6))}},
        "one nested pattern": lambda: {"properties": {"a": word(pattern="(" * (budget // 3) + "a" + ")*" * (budget // 3))}},
        "an enum": lambda: {"properties": {"a": word(enum=many(budget, lambda n: f"a-{n}"), default="a-1")}},
        "an enum of one": lambda: {"properties": {"a": word(enum=["a"] * (budget // 4))}},
        "enums of objects": lambda: {"properties": {"a": {"type": "object", "enum": many(budget, lambda n: {"a": [n]})}}},
        "properties": lambda: {"properties": properties(budget, lambda n: word())},
        "properties with defaults": lambda: {"properties": properties(budget, lambda n: word(default="a" * 50))},
        "required": lambda: {"required": many(budget, lambda n: f"a{n}")},
        "depth": lambda: nested(rng.choice((50, 150, 240)), {"type": "string"}, lambda s: {"type": "object", "properties": {"a": s}}),
        "deep alternatives": lambda: {"properties": {"a": word(oneOf=[nested(12, {"pattern": "a"}, lambda s: {"anyOf": [s, s]})])}},
        "alternatives": lambda: {"properties": {"a": word(oneOf=many(budget, lambda n: {"pattern": f"^{n}$"}))}},
        "all of": lambda: {"allOf": many(budget, lambda n: {"required": [f"a{n}"]})},
        "keys of a map": lambda: {"properties": {"a": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": many(budget // 2, lambda n: f"k{n}"),
                                  "items": {"type": "object", "properties": {each: word() for each in many(budget // 3, lambda n: f"k{n}")}}}}},
        "rules": lambda: {"x-kubernetes-validations": rules("true", budget // 20)},
        "rules that are not the same": lambda: {"x-kubernetes-validations": many(some, lambda n: {"rule": f"self.size() < {n}", "message": f"a{n}"}), "additionalProperties": word(), "maxProperties": 10},
        "a long rule": lambda: {"x-kubernetes-validations": rules("true" + "&&true" * (budget // 6), 1)},
        "a long sum": lambda: {"x-kubernetes-validations": rules("1" + "+1" * (budget // 2) + " > 0", 1)},
        "a long list in a rule": lambda: {"x-kubernetes-validations": rules("1 in [" + "1," * (budget // 2) + "1]", 1)},
        "a nested rule": lambda: {"x-kubernetes-validations": rules("(" * (budget // 2) + "true" + ")" * (budget // 2), 1)},
        "nested macros": lambda: {"properties": {"a": {"type": "array", "maxItems": 5, "items": word(maxLength=5), "x-kubernetes-validations": rules(nested(12, "true", lambda r: f"self.all(x, {r})"), 40)}}},
        "a rule with a long literal": lambda: {"x-kubernetes-validations": rules("'" + "a" * budget + "' != ''", 1)},
        "a rule that matches": lambda: {"x-kubernetes-validations": rules("'" + "a" * 1000 + "'.matches('" + "(a*)*" * 1000 + "')", 20)},
        "rules of many properties": lambda: {"properties": properties(some, lambda n: word(maxLength=10, **{"x-kubernetes-validations": [{"rule": "self != 'a'"}]}))},
        "long descriptions": lambda: {"description": "a " * (budget // 2)},
        "deep lists": lambda: {"properties": {"a": nested(120, {"type": "string"}, lambda s: {"type": "array", "items": s})}},
    }
    name = rng.choice(sorted(schemas))
    body = definition({"type": "object", **schemas[name]()})
    others = {
        "columns": lambda v: v.update(additionalPrinterColumns=many(budget, lambda n: {"name": f"a{n}", "type": "string", "jsonPath": f".spec.a{n}"})),
        "a long column": lambda v: v.update(additionalPrinterColumns=[{"name": "a", "type": "string", "jsonPath": ".a" * (budget // 2)}]),
        "selectable fields": lambda v: v.update(selectableFields=many(budget, lambda n: {"jsonPath": f".spec.a{n}"})),
    }
    if rng.random() < 0.15:
        name = rng.choice(sorted(others))
        body = definition({"type": "object"})
        others[name](body["spec"]["versions"][0])
    elif rng.random() < 0.1:
        name = "versions"
        first = definition({"type": "object"})["spec"]["versions"][0]
        body["spec"]["versions"] = many(budget, lambda n: {**first, "name": f"v{n + 1}", "storage": n == 0})
    elif rng.random() < 0.1:
        name = "short names"
        body["spec"]["names"].update(shortNames=many(budget // 2, lambda n: f"a{n}"), categories=many(budget // 2, lambda n: f"a{n}"))
    kept = rng.random() < 0.4
    yield f"a definition of {name}", [post(DEFINITIONS + ("" if kept else "?dryRun=All"), body)] + ([("DELETE", DEFINITIONS + "/as.example.com", None, None, "admin")] if kept else [])


def policies(rng, budget):
    def policy(**spec):
        base = {"failurePolicy": "Fail", "matchConstraints": MATCHED, "validations": [{"expression": "true"}]}
        return {"metadata": {"name": "p"}, "spec": {**base, **spec}}
    expressions = {
        "sum": "1" + "+1" * (budget // 2) + " > 0", "and": "true" + "&&true" * (budget // 6), "or": "false" + " || object.a == 1" * (budget // 16),
        "fields": "object" + ".a" * (budget // 2) + " == 1", "list": "1 in [" + "1," * (budget // 2) + "1]", "map": "{" + "'a':1," * (budget // 6) + "}.size() > 0",
        "literal": "'" + "a" * budget + "' == ''", "ternary": "true ? true : " * (budget // 14) + "true", "not": "!" * budget + "true", "negative": "-" * (budget // 2) + "1 < 0",
        "index": "object" + "[0]" * (budget // 3) + " == 1", "calls": "'a'" + ".trim()" * (budget // 7) + " == ''", "macros": nested(30, "true", lambda e: f"[1].all(x, {e})"),
        "comment": "true //" + " a" * (budget // 2), "comprehensions": "[1,2].map(x, [1,2].map(y, [1,2].map(z, x+y+z))).size() > 0" + " && [1].all(x, x > 0)" * (budget // 22),
        "optionals": "object" + ".?a" * (budget // 3) + ".hasValue()", "messages": "Object{" + "a: 1," * (budget // 5) + "} == object",
    }
    name = rng.choice(sorted(expressions))
    long = expressions[name]
    choices = {
        f"an expression of {name}": lambda: policy(validations=[{"expression": long}]),
        f"a condition of {name}": lambda: policy(matchConditions=[{"name": "a", "expression": long}]),
        "validations": lambda: policy(validations=many(budget, lambda n: {"expression": f"object.metadata.name != 'a{n}'"})),
        "messages": lambda: policy(validations=many(budget, lambda n: {"expression": "true", "messageExpression": f"'a' + string({n})"})),
        "conditions": lambda: policy(matchConditions=many(budget, lambda n: {"name": f"a{n}", "expression": "true"})),
        "variables": lambda: policy(variables=many(budget, lambda n: {"name": f"a{n}", "expression": "1"}), validations=[{"expression": "variables.a0 == 1"}]),
        "variables that double": lambda: policy(variables=[{"name": "a0", "expression": "'a'"}] + [
            {"name": f"a{n}", "expression": f"variables.a{n - 1} + variables.a{n - 1}"} for n in range(1, min(2000, budget // 80))]),
        "annotations": lambda: policy(auditAnnotations=many(budget, lambda n: {"key": f"a{n}", "valueExpression": "'a'"})),
        "constraints": lambda: policy(matchConstraints={"resourceRules": many(budget, lambda n: {"apiGroups": [f"a{n}.com"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]})}),
        "resources": lambda: policy(matchConstraints={"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": many(budget, lambda n: f"a{n}/*")}]}),
    }
    which = rng.choice(sorted(choices))
    path = rng.choice(("validatingadmissionpolicies",))
    kept = rng.random() < 0.4
    yield f"a policy of {which}", [post(f"{ADMISSION}/{path}" + ("" if kept else "?dryRun=All"), choices[which]())] + ([("DELETE", f"{ADMISSION}/{path}/p", None, None, "admin")] if kept else [])


def rights(rng, budget):
    """Roles of many rules, also written by a user whose own rights have to be compared with them."""
    rule = lambda n: {"apiGroups": [f"a{n}.example.com"], "resources": ["pods"], "verbs": ["get"]}
    verbs = ["get", "list", "watch", "create", "update", "patch", "delete"]
    held = {"apiGroups": ["", "apps", "batch"], "resources": ["pods", "configmaps", "deployments", "jobs"], "verbs": verbs}
    rules = {
        "distinct rules": lambda: many(budget, rule), "one rule": lambda: [rule(0)] * (budget // 75), "held rules": lambda: [held] * (budget // 160),
        "wide rules": lambda: [{"apiGroups": many(budget // 4, lambda n: f"a{n}"), "resources": many(budget // 4, lambda n: f"b{n}"), "verbs": many(budget // 4, lambda n: f"c{n}")}],
        "names": lambda: [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": many(budget, lambda n: f"a{n}")}],
        "rules of held resources": lambda: many(budget, lambda n: {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": [f"a{n}"]}),
        "paths": lambda: [{"nonResourceURLs": many(budget, lambda n: f"/a{n}/*"), "verbs": ["get"]}], "empty rules": lambda: [{}] * (budget // 3),
    }
    name = rng.choice(sorted(rules))
    user = rng.choice(("admin", "editor"))
    role = f"{RBAC}/namespaces/{NAMESPACE}/roles"
    kept = rng.random() < 0.4
    made = [post(role + ("" if kept else "?dryRun=All"), {"metadata": {"name": "r"}, "rules": rules[name]()}, user=user)]
    if kept:
        subjects = [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "editor"}]
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
        made += [post(f"{RBAC}/namespaces/{NAMESPACE}/rolebindings", {"metadata": {"name": "r"}, "roleRef": reference, "subjects": subjects}, user=user),
                 post(REVIEWS + "/selfsubjectrulesreviews", {"spec": {"namespace": NAMESPACE}}, user="editor"),
                 ("GET", CORE + "/pods", None, None, "editor"),
                 post(role + "?dryRun=All", {"metadata": {"name": "s"}, "rules": [held] * 100}, user="editor"),
                 ("DELETE", f"{RBAC}/namespaces/{NAMESPACE}/rolebindings/r", None, None, "admin"), ("DELETE", role + "/r", None, None, "admin")]
    yield f"a role of {name} by {user}", made


def aggregated(rng, budget):
    label = {"aggregate.example.com": "true"}
    part = lambda n: post(f"{RBAC}/clusterroles", {"metadata": {"name": f"part-{n}", "labels": label}, "rules": many(
        budget // 2, lambda m: {"apiGroups": [f"a{m if n else m % 100}"], "resources": ["pods"], "verbs": ["get"]})})
    whole = {"metadata": {"name": "whole"}, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": label}] * rng.choice((1, 100))}}
    yield "roles that are aggregated", [post(f"{RBAC}/clusterroles", whole), part(0), part(1)] + [
        ("DELETE", f"{RBAC}/clusterroles/{name}", None, None, "admin") for name in ("part-0", "part-1", "whole")]
    selectors = many(budget, lambda n: {"matchExpressions": [{"key": f"a{n}", "operator": "Exists"}]})
    yield "a role that aggregates by many selectors", [post(f"{RBAC}/clusterroles", {**whole, "aggregationRule": {"clusterRoleSelectors": selectors}}),
                                                       ("DELETE", f"{RBAC}/clusterroles/whole", None, None, "admin")]


def reviews(rng, budget):
    attributes = {"verb": "get", "resource": "pods", "namespace": NAMESPACE}
    requirement = lambda n: {"key": f"a{n}", "operator": "In", "values": ["a"]}
    wrong = lambda n: {"key": "a b", "operator": "None", "values": [""]}
    empty = lambda n: {}
    choices = {}
    for name, make in (("requirements", requirement), ("wrong requirements", wrong), ("empty requirements", empty)):
        for field in ("labelSelector", "fieldSelector"):
            choices[f"{field} of {name}"] = ("selfsubjectaccessreviews", lambda make=make, field=field: {"resourceAttributes": {**attributes, field: {"requirements": many(budget, make)}}})
    choices["a raw selector"] = ("selfsubjectaccessreviews", lambda: {"resourceAttributes": {**attributes, "labelSelector": {"rawSelector": "a in (" + "b," * (budget // 2) + "c)"}}})
    choices["a raw field selector"] = ("selfsubjectaccessreviews", lambda: {"resourceAttributes": {**attributes, "fieldSelector": {"rawSelector": "a=b," * (budget // 4) + "a=b"}}})
    choices["groups"] = ("subjectaccessreviews", lambda: {"user": "a", "groups": many(budget, lambda n: f"g{n}"), "resourceAttributes": attributes})
    choices["extra"] = ("subjectaccessreviews", lambda: {"user": "a", "extra": {each: ["a"] for each in many(budget, lambda n: f"g{n}--")}, "resourceAttributes": attributes})
    choices["a long user"] = ("subjectaccessreviews", lambda: {"user": "a" * budget, "resourceAttributes": attributes})
    choices["a long namespace"] = ("selfsubjectrulesreviews", lambda: {"namespace": "a" * budget})
    choices["a long path"] = ("selfsubjectaccessreviews", lambda: {"nonResourceAttributes": {"verb": "get", "path": "/a" * (budget // 2)}})
    name = rng.choice(sorted(choices))
    resource, make = choices[name]
    user = "admin" if resource == "subjectaccessreviews" else rng.choice(("admin", "outsider"))
    yield f"{resource} with {name} by {user}", [post(f"{REVIEWS}/{resource}", {"spec": make()}, user=user)]
    long = rng.choice(("a" * budget, "a.b.c" * (budget // 5), basic("{" * (budget // 2)).rstrip("=") + "." + "a.a"))
    spec = rng.choice(({"token": long}, {"token": "a", "audiences": many(budget, lambda n: f"a{n}")}))
    yield "a token review", [post("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": spec})]
    yield "a token for many audiences", [post(CORE + "/serviceaccounts/default/token", {"spec": {"audiences": many(budget, lambda n: f"a{n}")}})]


def patches(rng, budget):
    at = CORE + "/configmaps/patched"
    dry = "?dryRun=All" if rng.random() < 0.7 else ""
    large = {"op": "add", "path": "/data/large", "value": "a" * min(budget // 3, 900_000)}
    count = rng.choice((100, 1000, 9_999, 10_000))
    operations = {
        "copies that double": lambda: [{"op": "add", "path": "/metadata/annotations", "value": {"a": "a" * 1000}}] + [
            {"op": "copy", "from": "/metadata/annotations", "path": f"/metadata/annotations/b{n}"} for n in range(40)],
        "copies of large": lambda: [large] + [{"op": "copy", "from": "/data/large", "path": f"/data/l{n}"} for n in range(count)],
        "copies over one": lambda: [large] + [{"op": "copy", "from": "/data", "path": "/data"} for n in range(count)],
        "tests of large": lambda: [large] + [{"op": "test", "path": "/data/large", "value": large["value"]}] * max(1, (budget // max(1, len(large["value"])) - 1)),
        "tests of all": lambda: [large] + [{"op": "test", "path": "", "value": {}}] * count,
        "moves": lambda: [large] + [{"op": "move", "from": f"/data/{'large' if n % 2 == 0 else 'x'}", "path": f"/data/{'x' if n % 2 == 0 else 'large'}"} for n in range(count)],
        "items at the front": lambda: [{"op": "add", "path": "/metadata/finalizers", "value": many(budget // 2, lambda n: f"a.com/{n}")}] + [
            {"op": "add", "path": "/metadata/finalizers/0", "value": "a.com/a"}] * min(count, budget // 130),
        "items removed from the front": lambda: [{"op": "add", "path": "/metadata/finalizers", "value": many(budget // 2, lambda n: f"a.com/{n}")}] + [
            {"op": "remove", "path": "/metadata/finalizers/0"}] * min(count, budget // 100),
        "replacements of all": lambda: [{"op": "replace", "path": "/data", "value": {"a": "a"}}] * min(count, budget // 50),
        "long paths": lambda: [{"op": "test", "path": "/a" * (budget // 2), "value": 1}],
        "escaped paths": lambda: [{"op": "add", "path": "/data/" + "~1~0" * (budget // 4), "value": "a"}],
        "too many": lambda: [{"op": "test", "path": "", "value": 1}] * (budget // 36),
        "deep additions": lambda: [{"op": "add", "path": "/data" + "/a" * n, "value": {}} for n in range(min(count, 1000))],
    }
    name = rng.choice(sorted(operations))
    yield f"a JSON patch of {name}", [post(at + dry, operations[name](), PATCH, method="PATCH")]
    pod = CORE + "/pods/a"
    order = lambda n: {"name": f"a{n}"}
    strategic = {
        "an order": lambda: {"spec": {"$setElementOrder/containers": many(budget, order), "containers": [{"name": "a", "image": "b"}]}},
        "an order and items": lambda: {"spec": {"$setElementOrder/tolerations": many(budget // 2, lambda n: {"key": f"a{n}"}), "tolerations": many(budget // 2, lambda n: {"key": f"a{n}", "operator": "Exists"})}},
        "an order of items backwards": lambda: {"spec": {"$setElementOrder/volumes": many(budget // 3, order)[::-1], "volumes": many(budget // 3, lambda n: {"name": f"a{n}", "emptyDir": {}})}},
        "deletions": lambda: {"spec": {"containers": many(budget, lambda n: {"$patch": "delete", "name": f"a{n}"})}},
        "one deletion": lambda: {"spec": {"volumes": [{"$patch": "delete", "name": "a"}] * (budget // 35)}},
        "items and deletions": lambda: {"spec": {"volumes": many(budget // 3, lambda n: {"name": f"a{n}", "emptyDir": {}}) + many(budget // 3, lambda n: {"$patch": "delete", "name": f"a{n}"})}},
        "deleted finalizers": lambda: {"metadata": {"$deleteFromPrimitiveList/finalizers": many(budget // 2, lambda n: f"a.com/{n}"), "finalizers": many(budget // 3, lambda n: f"a.com/{n}")}},
        "an order of finalizers": lambda: {"metadata": {"$setElementOrder/finalizers": many(budget // 2, lambda n: f"a.com/{n}"), "finalizers": many(budget // 3, lambda n: f"a.com/{n}")}},
        "kept keys": lambda: {"spec": {"$retainKeys": many(budget, lambda n: f"a{n}"), "nodeName": "a"}},
        "environment": lambda: {"spec": {"containers": [{"name": "a", "$setElementOrder/env": many(budget // 2, order), "env": many(budget // 3, lambda n: {"name": f"a{n}", "value": "a"})}]}},
        "conditions": lambda: {"status": {"conditions": many(budget, lambda n: {"type": f"a{n}", "status": "True"})}},
        "unknown directives": lambda: {"spec": {f"$setElementOrder/a{n}": [] for n in range(budget // 30)}},
    }
    name = rng.choice(sorted(strategic))
    yield f"a strategic merge patch of {name}", [post(pod + dry, strategic[name](), STRATEGIC, method="PATCH")]
    yield "a merge patch of nulls", [post(at + dry, {"data": {each: None for each in many(budget, lambda n: f"a{n}")}}, MERGE, method="PATCH")]


def managers(rng, budget):
    """Server-side apply of many fields by several managers, and entries of managers that a client makes up."""
    at = CORE + "/configmaps/applied"
    body = lambda value, step=1: {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {f"a{n}": value for n in range(0, min(budget, 900_000) // 24, step)}}
    yield "apply of many fields that conflict", [
        post(f"{at}?fieldManager={manager}&force={force}", body(manager, step), APPLY, method="PATCH")
        for manager, force, step in (("one", "false", 1), ("two", "false", 1), ("two", "true", 2), ("three", "true", 3), ("one", "false", 7))] + [("DELETE", at, None, None, "admin")]
    paths = "{" + ",".join(f'"f:a{n}":{{}}' for n in range(200)) + "}"
    entry = lambda n: {"manager": f"m{n}", "operation": rng.choice(("Apply", "Update")), "apiVersion": rng.choice(("v1", f"v{n % 50 + 1}")), "time": "2026-01-01T00:00:00Z",
                       "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {".": {}, f"f:a{n % 300}": {}}}}
    made = lambda entries: {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "managed", "managedFields": entries}, "data": {f"a{n}": "a" for n in range(300)}}
    kept = {"kept": "", "dry": "?dryRun=All"}[rng.choice(("kept", "dry", "dry"))]
    after = [post(f"{CORE}/configmaps/managed?fieldManager=z&force=true", {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a1": "z"}}, APPLY, method="PATCH"),
             post(f"{CORE}/configmaps/managed", {"data": {"a2": "y"}}, MERGE, method="PATCH"), ("DELETE", f"{CORE}/configmaps/managed", None, None, "admin")]
    small = min(budget, 1_400_000) if kept == "" else budget
    yield "many managers", [post(f"{CORE}/configmaps{kept}", made(many(small, entry)))] + ([] if kept else after)
    wide = {"f:data": json.loads(paths)}
    yield "managers of many fields", [post(f"{CORE}/configmaps{kept}", made(many(small, lambda n: {**entry(n), "fieldsV1": wide})))] + ([] if kept else after)
    deep = nested(rng.choice((100, 400)), {}, lambda f: {"f:a": f})
    yield "managers of deep fields", [post(f"{CORE}/configmaps{kept}", made(many(small, lambda n: {**entry(n), "fieldsV1": deep})))] + ([] if kept else after)
    keys = {f'k:{{"name":"a{n}"}}': {} for n in range(small // 30)}
    yield "one manager of many keys", [post(f"{CORE}/configmaps{kept}", made([{**entry(0), "fieldsV1": {"f:data": keys}}]))] + ([] if kept else after)
    items = [{"name": f"a{n}", "other": "a"} for n in range(small // 40)]
    long = {"metadata": {"name": "applied"}, "spec": {"containers": [{"name": "k" * (budget // 2), "image": "a", **{f"u{n}": 1 for n in range(budget // 24)}}]}}
    yield "apply of unknown fields below a long name", [post(f"{CORE}/pods/applied?fieldManager=one", {"apiVersion": "v1", "kind": "Pod", **long}, APPLY, method="PATCH")]
    unknown = {"metadata": {"name": "applied"}, "spec": {f"u{n}": 1 for n in range(budget // 14)}}
    yield "apply of unknown fields", [post(f"{CORE}/pods/applied?fieldManager=one", {"apiVersion": "v1", "kind": "Pod", **unknown}, APPLY, method="PATCH")]
    hostile = {"apiVersion": "hostile.example.com/v1", "kind": "Hostile", "metadata": {"name": "applied"}, "spec": {"map": items, "set": [f"a{n}" for n in range(small // 40)]}}
    yield "apply of list maps and sets", [post(f"{HOSTILES}/applied?fieldManager={manager}&force=true", each, APPLY, method="PATCH") for manager, each in (
        ("one", hostile), ("two", {**hostile, "spec": {"map": items[::2]}}), ("one", {**hostile, "spec": {"map": items[::3]}}))] + [("DELETE", HOSTILES + "/applied", None, None, "admin")]


def yamls(rng, budget):
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
    choices = {
        "aliases": "x: &a [" + "a," * 50 + "]\ny: [" + "*a," * (budget // 3) + "]\n", "anchors": "x: [" + "".join(f"&a{n} a," for n in range(budget // 10)) + "]\n",
        "aliases that double": "a0: &a0 [a,a]\n" + "".join(f"a{n}: &a{n} [*a{n - 1},*a{n - 1}]\n" for n in range(1, min(5_000, budget // 30))),
        "merge keys": "x: &a {b: c}\ny:\n" + "".join(f"  k{n}: {{<<: *a}}\n" for n in range(budget // 20)), "a merge of many": "x: &a {b: c}\ny: {<<: [" + "*a," * (budget // 3) + "]}\n",
        "documents": "---\na: b\n" * (budget // 9), "empty documents": "---\n" * (budget // 4), "tags": "x: [" + "!!str a," * (budget // 8) + "]\n", "comments": "# a\n" * (budget // 4),
        "a block of text": "data:\n  a: |\n" + "    a\n" * (budget // 6), "a folded text": "data:\n  a: >\n" + "    a\n\n" * (budget // 7), "a long quoted text": 'data:\n  a: "' + "\\u0041" * (budget // 6) + '"\n',
        "lists in lines": "x:\n" + "- - a\n" * (budget // 6), "nested in a line": "x:\n" + "- " * (budget // 2) + "a\n", "keys that are complex": "? [a, b]\n: c\n" * (budget // 14), "question marks": "? " * (budget // 2) + "a\n",
        "braces": "x: " + "{a: " * min(2_000, budget // 4) + "}" * min(2_000, budget // 4), "keys": "".join(f"k{n}: a\n" for n in range(budget // 10)), "one key": "k: a\n" * (budget // 5), "colons": "x: a" + ":" * budget,
        "percent": "%YAML 1.2\n" * (budget // 10), "tabs": "x:\t" + "\t" * budget, "line ends": "\n" * budget, "carriage returns": "\r" * budget, "numbers": "x: [" + "0x1F, 1_000, 1e3, .inf, 0o7," * (budget // 28) + "]\n",
        "depth by blanks": "".join(" " * n + "a:\n" for n in range(min(1_700, budget))), "flow keys": "x: {" + "a," * (budget // 2) + "}\n", "single quotes": "x: '" + "''" * (budget // 2) + "'\n",
    }
    name = rng.choice(sorted(choices))
    content = rng.choice((YAML, APPLY))
    target = post(f"{CORE}/configmaps?dryRun=All", head + choices[name], YAML) if content == YAML else post(f"{CORE}/configmaps/a?dryRun=All&fieldManager=a", head + choices[name], APPLY, method="PATCH")
    yield f"YAML of {name}", [target]


def custom(rng, budget):
    made = lambda **spec: {"apiVersion": "hostile.example.com/v1", "kind": "Hostile", "metadata": {"name": "c"}, "spec": spec}
    choices = {
        "a set": lambda: made(set=many(budget, lambda n: f"a{n}")), "a set of one": lambda: made(set=["a"] * (budget // 4)), "a map": lambda: made(map=many(budget, lambda n: {"name": f"a{n}"})),
        "a map of one": lambda: made(map=[{"name": "a"}] * (budget // 13)), "a map without keys": lambda: made(map=[{}] * (budget // 3)), "lists that are the same": lambda: made(unique=[[1, 2, 3]] * (budget // 8)),
        "lists of a prefix": lambda: made(unique=many(budget, lambda n: [1] * 200 + [n])), "empty lists": lambda: made(unique=[[]] * (budget // 3)), "a word that almost matches": lambda: made(word="a-" * (budget // 2) + "!"),
        "words": lambda: made(words=["a" * 100] * 100), "too many words": lambda: made(words=["a"] * (budget // 4)), "amounts": lambda: made(amounts={each: "1" * 100 + "Ki" for each in many(budget // 10, lambda n: f"a{n}")}),
        "numbers below a long key": lambda: made(tree={"k" * (budget // 2): {"numbers": [1] * (budget // 4)}}),
        "wrong numbers below a long key": lambda: made(tree={"k" * (budget // 2): {"numbers": [""] * (budget // 6)}}),
        "a doubled set below a long key": lambda: made(tree={"k" * (budget // 2): {"set": [f"{n // 2}" for n in range(budget // 18)]}}),
        "unknown fields below a long key": lambda: made(tree={"k" * (budget // 2): {f"u{n}": 1 for n in range(budget // 24)}}),
        "unknown fields below a long name": lambda: made(map=[{"name": "k" * (budget // 2), **{f"u{n}": 1 for n in range(budget // 24)}}]),
        "unknown fields": lambda: made(**{each: 1 for each in many(budget, lambda n: f"u{n}")}), "free fields": lambda: made(free={each: {} for each in many(budget, lambda n: f"u{n}")}),
        "embedded": lambda: made(embedded={"apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "labels": {each: "a b" for each in many(budget, lambda n: f"/{n}/")}}}),
    }
    name = rng.choice(sorted(choices))
    query = rng.choice(("dryRun=All", "dryRun=All&fieldValidation=Strict", ""))
    yield f"a custom object of {name}", [post(f"{HOSTILES}?{query}", choices[name]()), ("DELETE", HOSTILES + "/c", None, None, "admin")][:1 if query else 2]


def reads(rng, budget):
    long = min(budget, 60_000)
    selectors = {
        "requirements": ",".join(f"a{n}" for n in range(long // 7)), "values": "a in (" + ",".join(f"{n}" for n in range(long // 7)) + ")", "absences": ",".join(f"!a{n}" for n in range(long // 8)),
        "one value": "a in (" + "b," * (long // 2) + "b)", "brackets": "(" * long, "blanks": " " * (long // 3) + "a",
    }
    fields = {"names": ",".join(f"metadata.name!=a{n}" for n in range(long // 25)), "one name": ",".join(["metadata.name=a"] * (long // 16)), "escapes": "metadata.name=" + "\\," * (long // 6), "equals": "=" * (long // 3)}
    name, field = rng.choice(sorted(selectors)), rng.choice(sorted(fields))
    accept = rng.choice((None, "application/yaml", "application/vnd.kubernetes.protobuf", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "application/json," * 3_000))
    get = lambda path, **query: ("GET", path + "?" + urlencode(query, safe="(),!="), accept and {"Accept": accept}, None, rng.choice(("admin", "editor")))
    where = rng.choice((CORE + "/configmaps", CORE + "/pods", HOSTILES, CORE + "/secrets"))
    yield f"a list by labels of {name}, {accept and accept[:40]}", [get(where, labelSelector=selectors[name])]
    yield f"a list by fields of {field}, {accept and accept[:40]}", [get(where, fieldSelector=fields[field])]
    yield f"a watch by labels of {name}", [get(where, labelSelector=selectors[name], watch=1, timeoutSeconds=1, sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true")]
    yield f"a list, {accept and accept[:40]}", [get(where, limit=rng.choice((0, 1, 10**18)), pretty=rng.choice(("0", "1")))]
    yield "a list from a made up place", [get(where, **{"continue": basic("{" * (long // 2)), "limit": 1})]
    yield "a log", [get(CORE + "/pods/a/log", sinceSeconds=rng.choice((1, 2**63 - 1)), tailLines=rng.choice((1, 2**63 - 1)), limitBytes=rng.choice((1, 2**63 - 1)))]
    yield "exec with many words", [("POST", CORE + "/pods/a/exec?" + "command=a&" * (long // 10), None, "a" * budget, "admin")]
    yield "a connection with a body", [("POST", CORE + rng.choice(("/pods/a/attach", "/pods/a/portforward?ports=1", "/pods/a/proxy/", "/services/a/proxy/")), None, "a" * budget, "admin")]
    yield "many headers", [("GET", CORE + "/pods", {f"Impersonate-Extra-{n}": "a" * 500 for n in range(80)} | {"Impersonate-User": "a"}, None, "admin")]
    yield "a deletion of many by selector", [("DELETE", f"{CORE}/endpoints?dryRun=All&labelSelector=" + quote(selectors[name], safe=""), None, "{" + '"a":1,' * (budget // 6) + '"a":1}', "admin")]
    yield "metrics and documents", [("GET", path, None, None, "admin") for path in ("/metrics", "/openapi/v2", "/openapi/v3", "/apis", "/openapi/v3/api/v1")]


def denied(rng, budget):
    """What those without rights send, whose bodies need not be read at all."""
    user = rng.choice(("anonymous", "outsider"))
    pod = compact({"metadata": {"name": "a"}, "spec": {**POD, "tolerations": many(budget, lambda n: {"key": f"a{n}"})}})
    yield f"a pod by {user}", [post(CORE + "/pods", pod, user=user)]
    yield f"a patch by {user}", [post(CORE + "/pods/a", pod, STRATEGIC, user=user, method="PATCH")]
    yield f"an unknown path by {user}", [post("/a" * 1000, pod, user=user)]


def others(rng, budget):
    budgets = {"metadata": {"name": "b"}, "spec": {"selector": {**LABELS, "matchExpressions": many(budget, lambda n: {"key": f"a{n}", "operator": "In", "values": ["a"]})}, "minAvailable": 1}}
    yield "a budget of many requirements", [post(f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets", budgets), ("DELETE", f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets/b", None, None, "admin")]
    pem = lambda kind, count: basic((f"-----BEGIN {kind}-----\n" + "QUFB\n" * 10 + f"-----END {kind}-----\n") * count)
    request = {"metadata": {"name": "c"}, "spec": {"signerName": "example.com/a", "usages": ["client auth"], "request": pem("CERTIFICATE REQUEST", budget // 140)}}
    yield "a certificate request of many blocks", [post("/apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All", request)]
    name = rng.choice(sorted(TEXTS))
    secret = {"metadata": {"name": "s"}, "type": "kubernetes.io/tls", "data": {"tls.crt": pem("CERTIFICATE", budget // 140), "tls.key": basic(TEXTS[name](budget // 3))}}
    yield "a secret of certificates", [post(CORE + "/secrets?dryRun=All", secret)]
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {each: "1" for each in many(budget, lambda n: f"count/a.b{n}")}}}
    yield "a quota of many resources", [post(CORE + "/resourcequotas?dryRun=All", quota)]
    webhooks = {"metadata": {"name": "w"}, "webhooks": many(budget, lambda n: {**NEEDS["ValidatingWebhookConfiguration"]["webhooks"][0], "name": f"a{n}.example.com"})}
    yield "many webhooks", [post(f"{ADMISSION}/validatingwebhookconfigurations?dryRun=All", webhooks)]


FAMILIES = (definitions, policies, rights, aggregated, reviews, patches, managers, yamls, custom, reads, denied, others)
