"""Kinds, verbs and schemas, as the server publishes them in OpenAPI v3, and a small valid object of each kind."""

import re

from cluster import NAMESPACE, basic

POD = {"containers": [{"name": "a", "image": "a"}]}
LABELS = {"matchLabels": {"a": "a"}}
TEMPLATE = {"metadata": {"labels": {"a": "a"}}, "spec": POD}
JOB_TEMPLATE = {"metadata": {"labels": {"a": "a"}}, "spec": {**POD, "restartPolicy": "Never"}}
ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
SCALED = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
WEBHOOK = {
    "name": "a.example.com", "clientConfig": {"url": "https://127.0.0.1:1/"}, "admissionReviewVersions": ["v1"],
    "sideEffects": "None", "failurePolicy": "Ignore", "timeoutSeconds": 1,
    "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "resources": ["nothing"], "operations": ["CREATE"]}],
}
MATCHED = {"resourceRules": [{**WEBHOOK["rules"][0]}]}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
DEVICES = {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "a"}}]}}
REQUEST = basic("-----BEGIN CERTIFICATE REQUEST-----\n" + (
    "MIHFMG4CAQAwDDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABKL4hRQy1qLGOdLYY4SDahnK62A/HIPGczZIlWDZcMVU8E+HeSpkysSpc8SmJFjmH9"
    "VIZgT6cfheIJfUm4Is70igADAKBggqhkjOPQQDAgNHADBEAiAZ1bjLqvvN1B80IX7/nD1tkJPuEJorBoilrwlFu/gxOgIgf0LxRa6ixQhUT6MHLnj1X9jXtiITNyYWGdFa"
    "YWYcnDo="
) + "\n-----END CERTIFICATE REQUEST-----\n")

# What a kind needs besides metadata to be valid. Kinds that are not here need no more than their required fields.
NEEDS = {
    "Pod": {"spec": POD},
    "PodTemplate": {"template": TEMPLATE},
    "ReplicationController": {"spec": {"replicas": 0, "selector": {"a": "a"}, "template": TEMPLATE}},
    "Deployment": {"spec": {"replicas": 0, "selector": LABELS, "template": TEMPLATE}},
    "ReplicaSet": {"spec": {"replicas": 0, "selector": LABELS, "template": TEMPLATE}},
    "StatefulSet": {"spec": {"replicas": 0, "serviceName": "a", "selector": LABELS, "template": TEMPLATE}},
    "DaemonSet": {"spec": {"selector": LABELS, "template": {**TEMPLATE, "spec": {**POD, "nodeSelector": {"none": "none"}}}}},
    "Job": {"spec": {"suspend": True, "template": JOB_TEMPLATE}},
    "CronJob": {"spec": {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": {"spec": {"template": JOB_TEMPLATE}}}},
    "ControllerRevision": {"revision": 1, "data": {"a": "a"}},
    "Service": {"spec": {"ports": [{"name": "a", "port": 80}], "selector": {"a": "a"}}},
    "Endpoints": {"subsets": [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"name": "a", "port": 80}]}]},
    "EndpointSlice": {"addressType": "IPv4", "endpoints": [{"addresses": ["10.1.2.3"]}], "ports": [{"name": "a", "port": 80}]},
    "PersistentVolume": {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}},
    "PersistentVolumeClaim": {"spec": CLAIM},
    "LimitRange": {"spec": {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "9000Ti"}}]}},
    "ResourceQuota": {"spec": {"hard": {"count/none.example.com": "1"}}},
    "Event": {"involvedObject": {"namespace": NAMESPACE, "kind": "Pod", "name": "a"}, "reason": "a", "type": "Normal",
              "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "example.com/a", "reportingComponent": "example.com/a", "reportingInstance": "a",
              "regarding": {"namespace": NAMESPACE, "kind": "Pod", "name": "a"}, "action": "a"},
    "HorizontalPodAutoscaler": {"spec": {"maxReplicas": 1, "scaleTargetRef": SCALED}},
    "PodDisruptionBudget": {"spec": {"minAvailable": 1, "selector": LABELS}},
    "NetworkPolicy": {"spec": {"podSelector": {}}},
    "Ingress": {"spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}}},
    "IngressClass": {"spec": {"controller": "example.com/a"}},
    "IPAddress": {"spec": {"parentRef": {"resource": "services", "name": "a", "namespace": NAMESPACE}}},
    "ServiceCIDR": {"spec": {"cidrs": ["10.77.0.0/16"]}},
    "Role": {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    "ClusterRole": {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    "RoleBinding": {"roleRef": ROLE, "subjects": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "a"}]},
    "ClusterRoleBinding": {"roleRef": ROLE, "subjects": [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "a"}]},
    "PriorityClass": {"value": 1},
    "RuntimeClass": {"handler": "a"},
    "StorageClass": {"provisioner": "example.com/a"},
    "CSIDriver": {"spec": {"attachRequired": False}},
    "CSINode": {"spec": {"drivers": [{"name": "a.example.com", "nodeID": "a"}]}},
    "CSIStorageCapacity": {"storageClassName": "a"},
    "VolumeAttachment": {"spec": {"attacher": "a.example.com", "nodeName": "a", "source": {"persistentVolumeName": "a"}}},
    "VolumeAttributesClass": {"driverName": "a.example.com", "parameters": {"a": "a"}},
    "MutatingWebhookConfiguration": {"webhooks": [WEBHOOK]},
    "ValidatingWebhookConfiguration": {"webhooks": [WEBHOOK]},
    "ValidatingAdmissionPolicy": {"spec": {"failurePolicy": "Ignore", "matchConstraints": MATCHED, "validations": [{"expression": "true"}]}},
    "ValidatingAdmissionPolicyBinding": {"spec": {"policyName": "none", "validationActions": ["Deny"]}},
    "MutatingAdmissionPolicy": {"spec": {"failurePolicy": "Ignore", "matchConstraints": MATCHED, "reinvocationPolicy": "Never",
                                         "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}]}},
    "MutatingAdmissionPolicyBinding": {"spec": {"policyName": "none"}},
    "FlowSchema": {"spec": {"priorityLevelConfiguration": {"name": "catch-all"}, "matchingPrecedence": 9999}},
    "PriorityLevelConfiguration": {"spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}},
    "CertificateSigningRequest": {"spec": {"signerName": "example.com/a", "usages": ["client auth"], "request": REQUEST}},
    "APIService": {"spec": {"group": "example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
                            "insecureSkipTLSVerify": True, "service": {"name": "a", "namespace": NAMESPACE}}},
    "CustomResourceDefinition": {"spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "as", "singular": "a", "kind": "A", "listKind": "AList"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]}},
    "Lease": {"spec": {"holderIdentity": "a"}},
    "DeviceClass": {"spec": {"selectors": [{"cel": {"expression": "true"}}]}},
    "ResourceClaim": {"spec": DEVICES},
    "ResourceClaimTemplate": {"spec": {"spec": DEVICES}},
    "ResourceSlice": {"spec": {"driver": "a.example.com", "nodeName": "a", "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
                               "devices": [{"name": "a"}]}},
    "SelfSubjectAccessReview": {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}},
    "SubjectAccessReview": {"spec": {"user": "a", "resourceAttributes": {"verb": "get", "resource": "pods"}}},
    "LocalSubjectAccessReview": {"spec": {"user": "a", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": NAMESPACE}}},
    "SelfSubjectRulesReview": {"spec": {"namespace": NAMESPACE}},
    "TokenReview": {"spec": {"token": "a"}},
    "TokenRequest": {"spec": {"audiences": ["a"]}},
    "Binding": {"target": {"kind": "Node", "name": "a"}},
    "Hostile": {"spec": {"set": ["a"], "map": [{"name": "a", "other": "a"}], "word": "a", "number": 1, "free": {"a": {"b": "c"}}, "words": ["a"]}},
}
NAMES = {"CustomResourceDefinition": "as.example.com", "APIService": "v1.example.com", "IPAddress": "10.0.9.9", "CSIDriver": "a.example.com"}

# A kind of its own, whose schema uses what only definitions have: sets, maps, rules, patterns, unknown fields.
HOSTILE = {
    "metadata": {"name": "hostiles.hostile.example.com"},
    "spec": {
        "group": "hostile.example.com", "scope": "Namespaced",
        "names": {"plural": "hostiles", "singular": "hostile", "kind": "Hostile", "listKind": "HostileList"},
        "versions": [{
            "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {
                    "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                    "objects": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                    "unique": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "atomic"}},
                    "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
                        "type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "other": {"type": "string", "default": "b"}}}},
                    "words": {"type": "array", "maxItems": 100, "items": {"type": "string", "maxLength": 100},
                              "x-kubernetes-validations": [{"rule": "self.all(x, self.exists_one(y, y == x))"}]},
                    "word": {"type": "string", "pattern": "^([a-z0-9]+[-.]?)+$", "enum": ["a", "b"] + [f"value-{n}" for n in range(500)]},
                    "either": {"x-kubernetes-int-or-string": True, "oneOf": [{"minimum": 1}, {"maxLength": 9}]},
                    "number": {"type": "integer", "minimum": 0, "multipleOf": 1},
                    "amounts": {"type": "object", "additionalProperties": {"type": "string", "format": "quantity"}},
                    "tree": {"type": "object", "additionalProperties": {"type": "object", "properties": {
                        "numbers": {"type": "array", "items": {"type": "integer"}},
                        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}}},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    "embedded": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
                }},
                "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            }}},
        }],
    },
}


class Operation:
    """A verb at a path: `action` is Kubernetes' name of it, `schema` that of the body it takes."""

    def __init__(self, method, path, action, kind, version, schema):
        self.method, self.action, self.kind, self.version, self.schema = method, action, kind, version, schema
        self.template = path
        self.named = path.rstrip("/").endswith("}") or "{name}/" in path
        self.subresource = path.split("{name}/", 1)[1] if "{name}/" in path else ""


def published(cluster):
    """All operations of the API, in order, and the schemas by name."""
    operations, schemas = [], {}
    for group, document in sorted(cluster.must("GET", "/openapi/v3")["paths"].items()):
        if not re.fullmatch(r"api/v1|apis/[^/]+/[^/]+", group):
            continue
        document = cluster.must("GET", document["serverRelativeURL"])
        schemas.update(document.get("components", {}).get("schemas", {}))
        for path, item in sorted(document["paths"].items()):
            for method, operation in sorted(item.items()):
                action = operation.get("x-kubernetes-action") if isinstance(operation, dict) else None
                about = action and operation.get("x-kubernetes-group-version-kind")
                if not about or "/watch/" in path:
                    continue
                version = "/".join(filter(None, (about.get("group"), about["version"])))
                content = (operation.get("requestBody") or {}).get("content", {})
                body = next((each["schema"] for each in content.values() if "schema" in each), {})
                operations.append(Operation(method.upper(), path, action, about["kind"], version, named(body)))
    return operations, schemas


def named(schema):
    """The name that a schema refers to, also by `allOf` of one."""
    for each in [schema, *schema.get("allOf", [])]:
        if "$ref" in each:
            return each["$ref"].rsplit("/", 1)[1]
    return None


def resolved(schema, schemas):
    name = named(schema)
    return schemas.get(name, {}) if name else schema


def valid(kind, version, schema, schemas, name="a", namespaced=True):
    """A small valid object of the kind, with the required fields of its schema."""
    made = {"apiVersion": version, "kind": kind, "metadata": {"name": NAMES.get(kind, name)}}
    if namespaced:
        made["metadata"]["namespace"] = NAMESPACE
    fields = schemas.get(schema, {}).get("properties", {})
    for field, value in NEEDS.get(kind, {}).items():
        if field in fields or not fields:
            made[field] = value
    for field in schemas.get(schema, {}).get("required", []):
        made.setdefault(field, example(fields.get(field, {}), schemas, field))
    return made


def example(schema, schemas, field="", depth=0, full=False):
    """A plausible value of a schema: the required fields, or all of one level where `full`."""
    schema = resolved(schema, schemas)
    fields = schema.get("properties", {})
    if fields or schema.get("type") == "object" and "additionalProperties" not in schema:
        wanted = fields if full and depth < 2 else schema.get("required", [])
        return {} if depth > 8 else {each: example(fields.get(each, {}), schemas, each, depth + 1, full) for each in wanted}
    if schema.get("type") == "array":
        return [example(schema.get("items", {}), schemas, field, depth + 1, full)]
    if "additionalProperties" in schema:
        return {"a": example(schema["additionalProperties"], schemas, field, depth + 1, full)}
    if schema.get("type") in ("integer", "number"):
        return 80
    if schema.get("type") == "boolean":
        return True
    if schema.get("format") == "date-time":
        return "2026-01-01T00:00:00Z"
    if schema.get("format") == "byte":
        return "YQ=="
    known = {"ip": "10.1.2.3", "protocol": "TCP", "operator": "In", "path": "/a", "mountPath": "/a", "apiVersion": "v1", "cidr": "10.0.0.0/8",
             "topologyKey": "kubernetes.io/hostname", "expression": "true", "effect": "NoSchedule", "uid": "00000000-0000-0000-0000-000000000001"}
    return known.get(field, schema.get("enum", ["a"])[0])
