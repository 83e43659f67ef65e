//! The objects that a token is bound to, and when they invalidate it.

use std::collections::BTreeMap;

use coracle_ambient::Timestamp;
use coracle_meta::Object;
use coracle_registry::User;
use serde_json::{Map, Value, json};

use crate::invalidated::is_gone;
use crate::service_account_name;

/// The reference of a token to an object, by name and uid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) name: String,
    /// Empty for a node that did not exist when the token was issued.
    pub(crate) uid: String,
}

impl Reference {
    fn read(value: Option<&Value>) -> Option<Self> {
        let text = |name: &str| value?.get(name)?.as_str().map(str::to_owned);
        Some(Self { name: text("name")?, uid: text("uid").unwrap_or_default() })
    }

    /// The reference to an object.
    pub(crate) fn to(object: &Object) -> Self {
        Self { name: object.name().to_owned(), uid: object.uid().to_owned() }
    }

    /// The reference as a claim.
    pub(crate) fn claim(&self) -> Value {
        if self.uid.is_empty() { json!({"name": self.name}) } else { json!({"name": self.name, "uid": self.uid}) }
    }
}

/// The objects in the claims of a token. In Kubernetes: the private claims of `pkg/serviceaccount/claims.go`.
pub(crate) struct Bound {
    namespace: String,
    account: Reference,
    pod: Option<Reference>,
    secret: Option<Reference>,
    node: Option<Reference>,
}

impl Bound {
    pub(crate) fn read(claims: &Map<String, Value>) -> Option<Self> {
        let own = claims.get("kubernetes.io")?;
        Some(Self {
            namespace: own.get("namespace")?.as_str()?.to_owned(),
            account: Reference::read(own.get("serviceaccount"))?,
            pod: Reference::read(own.get("pod")),
            secret: Reference::read(own.get("secret")),
            node: Reference::read(own.get("node")),
        })
    }

    /// The objects that must exist for the token to be valid. The node of a pod is only informative: the token ends
    /// with the pod.
    pub(crate) fn objects(&self) -> impl Iterator<Item = BoundObject<'_>> {
        let here = |kind, reference| BoundObject { kind, namespace: &self.namespace, reference };
        let node = self.node.as_ref().filter(|_| self.pod.is_none());
        [
            Some(here(BoundKind::ServiceAccount, &self.account)),
            self.secret.as_ref().map(|secret| here(BoundKind::Secret, secret)),
            self.pod.as_ref().map(|pod| here(BoundKind::Pod, pod)),
            node.map(|node| BoundObject { kind: BoundKind::Node, namespace: "", reference: node }),
        ]
        .into_iter()
        .flatten()
    }

    /// The user of the token. In Kubernetes: `ServiceAccountInfo.UserInfo`.
    pub(crate) fn user(&self, token_id: Option<&str>) -> User {
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut put = |name: &str, value: &str| {
            if !value.is_empty() {
                extra.insert(format!("authentication.kubernetes.io/{name}"), vec![value.to_owned()]);
            }
        };
        put("credential-id", &token_id.map(|id| format!("JTI={id}")).unwrap_or_default());
        for (kind, reference) in [("pod", &self.pod), ("node", &self.node)] {
            if let Some(Reference { name, uid }) = reference {
                put(&format!("{kind}-name"), name);
                put(&format!("{kind}-uid"), uid);
            }
        }
        let groups = ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{}", self.namespace)];
        let user = User::new(service_account_name(&self.namespace, &self.account.name), groups);
        User { uid: self.account.uid.clone(), extra, ..user }
    }
}

/// An object that must exist for a token to be valid.
pub(crate) struct BoundObject<'a> {
    kind: BoundKind,
    pub(crate) namespace: &'a str,
    pub(crate) reference: &'a Reference,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BoundKind {
    ServiceAccount,
    Secret,
    Pod,
    Node,
}

impl BoundObject<'_> {
    pub(crate) fn plural(&self) -> &'static str {
        match self.kind {
            BoundKind::ServiceAccount => "serviceaccounts",
            BoundKind::Secret => "secrets",
            BoundKind::Pod => "pods",
            BoundKind::Node => "nodes",
        }
    }

    /// Why the current state of the object makes the token invalid, if it does.
    pub(crate) fn why_lapsed(&self, found: Option<&Object>, now: Timestamp) -> Option<String> {
        let Self { kind, namespace, reference: Reference { name, uid } } = self;
        let is_account = *kind == BoundKind::ServiceAccount;
        let Some(found) = found else {
            return Some(if is_account {
                format!("serviceaccounts \"{name}\" not found")
            } else {
                "service account token has been invalidated".to_owned()
            });
        };
        if found.uid() != uid {
            let (word, claim) = match kind {
                BoundKind::ServiceAccount => ("service account", "claim"),
                BoundKind::Secret => ("secret", "service account secret ref claim"),
                BoundKind::Pod => ("pod", "service account pod ref claim"),
                BoundKind::Node => ("node", "service account node ref claim"),
            };
            return Some(format!("{word} UID ({}) does not match {claim} ({uid})", found.uid()));
        }
        is_gone(found, now).then(|| {
            if is_account {
                format!("service account {namespace}/{name} has been deleted")
            } else {
                "service account token has been invalidated".to_owned()
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(claims: &Value) -> Bound {
        Bound::read(json!({"kubernetes.io": claims}).as_object().unwrap()).unwrap()
    }

    fn object(uid: &str, deleted: Option<&str>) -> Object {
        Object::from_value(json!({"metadata": {"uid": uid, "deletionTimestamp": deleted}})).unwrap()
    }

    #[test]
    fn a_token_bound_to_a_pod_says_so_in_the_users_extra_and_names_its_node() {
        let bound = bound(&json!({
            "namespace": "shop", "serviceaccount": {"name": "robot", "uid": "u1"}, "pod": {"name": "p", "uid": "u2"},
            "node": {"name": "n"}
        }));
        let user = bound.user(Some("id"));
        assert_eq!(user.name, "system:serviceaccount:shop:robot");
        assert_eq!(user.uid, "u1");
        assert_eq!(user.groups, ["system:serviceaccounts", "system:serviceaccounts:shop"]);
        let extra: Vec<_> = user.extra.iter().map(|(key, values)| (key.as_str(), values[0].as_str())).collect();
        assert_eq!(
            extra,
            [
                ("authentication.kubernetes.io/credential-id", "JTI=id"),
                ("authentication.kubernetes.io/node-name", "n"),
                ("authentication.kubernetes.io/pod-name", "p"),
                ("authentication.kubernetes.io/pod-uid", "u2")
            ]
        );
        let plurals: Vec<_> = bound.objects().map(|object| object.plural()).collect();
        assert_eq!(plurals, ["serviceaccounts", "pods"], "a pod's node need not be there");
    }

    #[test]
    fn a_token_ends_with_its_object_even_if_a_new_one_has_the_same_name() {
        let now: Timestamp = "2026-01-01T00:02:00Z".parse().unwrap();
        let bound = bound(&json!({
            "namespace": "shop", "serviceaccount": {"name": "robot", "uid": "u1"}, "node": {"name": "n", "uid": "u2"}
        }));
        let objects: Vec<_> = bound.objects().collect();
        let [account, node] = objects.as_slice() else { panic!("bound to an account and a node") };
        assert_eq!((node.plural(), node.namespace), ("nodes", ""));
        assert_eq!(account.why_lapsed(Some(&object("u1", None)), now), None);
        assert_eq!(account.why_lapsed(Some(&object("u1", Some("2026-01-01T00:01:00Z"))), now), None);
        assert_eq!(
            account.why_lapsed(Some(&object("u1", Some("2026-01-01T00:00:59Z"))), now).unwrap(),
            "service account shop/robot has been deleted"
        );
        assert_eq!(account.why_lapsed(None, now).unwrap(), "serviceaccounts \"robot\" not found");
        assert_eq!(
            node.why_lapsed(Some(&object("u3", None)), now).unwrap(),
            "node UID (u3) does not match service account node ref claim (u2)"
        );
        assert_eq!(node.why_lapsed(None, now).unwrap(), "service account token has been invalidated");
    }
}
