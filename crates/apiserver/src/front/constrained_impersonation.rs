use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::names::dns1123_subdomain;
use coracle_meta::{GroupVersionResource, ResourcePath, Status};
use coracle_registry::{Attributes, Registry, User, forbidden};
use parking_lot::Mutex;

use crate::front::access;
use crate::front::authenticate::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, add_group};
use crate::front::impersonation_headers::Wanted;

const NODE: &str = "system:node:";
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
const NODE_KEYS: &str = "authentication.kubernetes.io/associated-node-keys";
const AUTHENTICATION: &str = "authentication.k8s.io";
const MASTERS: &str = "system:masters";

/// The number of groups or of extra values from which the permission for all of them is asked for first.
const MANY: usize = 4;

/// The number of users whose last mode is known.
const MOST_KNOWN: usize = 10_000;

/// Impersonation whose permission names the kind of the impersonated user and what is done as that user.
///
/// The modes are asked in their order; the last one that let a user impersonate is asked first. The last mode of all is
/// the plain verb `impersonate`. In Kubernetes: `WithConstrainedImpersonation`.
#[derive(Debug, Default)]
pub(crate) struct ConstrainedImpersonation {
    last: Mutex<BTreeMap<String, Mode>>,
}

/// How a user is impersonated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// A service account impersonates the node on which it runs.
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    /// A user that is neither a node nor a service account.
    UserInfo,
    /// With the plain verb `impersonate`.
    Legacy,
}

impl Mode {
    const ALL: [Self; 5] =
        [Self::AssociatedNode, Self::ArbitraryNode, Self::ServiceAccount, Self::UserInfo, Self::Legacy];

    /// The verb of the permission to impersonate a user.
    fn verb(self) -> &'static str {
        match self {
            Self::AssociatedNode => "impersonate:associated-node",
            Self::ArbitraryNode => "impersonate:arbitrary-node",
            Self::ServiceAccount => "impersonate:serviceaccount",
            Self::UserInfo => "impersonate:user-info",
            Self::Legacy => "impersonate",
        }
    }

    /// Whether users of this kind are impersonated in this mode.
    fn applies(self, asker: &User, wanted: &Wanted) -> bool {
        let node = node_of(&wanted.name);
        match self {
            Self::AssociatedNode => wanted.is_only_a_name() && node.is_some() && node == node_of_service_account(asker),
            Self::ArbitraryNode => wanted.is_only_a_name() && node.is_some(),
            Self::ServiceAccount => wanted.is_only_a_name() && wanted.service_account().is_some(),
            Self::UserInfo => node.is_none() && wanted.service_account().is_none(),
            Self::Legacy => true,
        }
    }
}

impl ConstrainedImpersonation {
    /// The impersonated user. `asked` is the request as its own user makes it.
    ///
    /// # Errors
    /// 403, with the reason of the mode that was asked first.
    pub(crate) async fn user(&self, registry: &Registry, asked: &Attributes, wanted: &Wanted) -> Result<User, Status> {
        let last = self.last.lock().get(&asked.user.name).copied();
        let others = Mode::ALL.into_iter().filter(|mode| Some(*mode) != last);
        let mut refused = None;
        for mode in last.into_iter().chain(others) {
            if !mode.applies(&asked.user, wanted) {
                continue;
            }
            match impersonated(registry, mode, asked, wanted).await {
                Ok(user) => {
                    self.remember(&asked.user.name, mode);
                    return Ok(user);
                }
                Err(status) => refused = refused.or(Some(status)),
            }
        }
        Err(refused.unwrap_or_else(|| Status::internal("all impersonation modes failed")))
    }

    fn remember(&self, name: &str, mode: Mode) {
        let mut last = self.last.lock();
        if last.len() >= MOST_KNOWN && !last.contains_key(name) {
            last.pop_first();
        }
        last.insert(name.to_owned(), mode);
    }
}

/// The impersonated user, if this mode allows it.
async fn impersonated(registry: &Registry, mode: Mode, asked: &Attributes, wanted: &Wanted) -> Result<User, Status> {
    let asker = match mode {
        Mode::AssociatedNode => Arc::new(with_node_keys(&asked.user)),
        _ => Arc::clone(&asked.user),
    };
    if let Some(kind) = mode.verb().strip_prefix("impersonate:") {
        let verb = format!("impersonate-on:{kind}:{}", asked.verb);
        access::decide(registry, &Attributes { user: Arc::clone(&asker), verb, ..asked.clone() }).await?;
    }
    let permissions = Permissions { registry, mode, asker };
    permissions.check(wanted).await?;
    Ok(into_user(mode, wanted))
}

/// The asker without what differs between the nodes on which it runs.
fn with_node_keys(asker: &User) -> User {
    let keys = asker.extra.keys().cloned().collect();
    User { extra: [(NODE_KEYS.to_owned(), keys)].into(), ..asker.clone() }
}

fn into_user(mode: Mode, wanted: &Wanted) -> User {
    let mut groups = wanted.groups.clone();
    if groups.is_empty() {
        if mode != Mode::Legacy && node_of(&wanted.name).is_some() {
            groups = vec!["system:nodes".to_owned()];
        } else if let Some((namespace, _)) = wanted.service_account() {
            groups = vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
        }
    }
    let is_anonymous = wanted.name == ANONYMOUS;
    let is_unauthenticated = groups.iter().any(|group| group == UNAUTHENTICATED);
    let mut user = User { name: wanted.name.clone(), uid: wanted.uid.clone(), groups, extra: wanted.extra.clone() };
    match (is_anonymous, is_unauthenticated) {
        (true, _) => add_group(&mut user, UNAUTHENTICATED),
        (false, false) => add_group(&mut user, AUTHENTICATED),
        (false, true) => {}
    }
    user
}

/// The permissions to impersonate the fields of a user. In Kubernetes: `impersonationModeState`.
struct Permissions<'r> {
    registry: &'r Registry,
    mode: Mode,
    asker: Arc<User>,
}

impl Permissions<'_> {
    async fn check(&self, wanted: &Wanted) -> Result<(), Status> {
        self.decide(self.name_target(wanted)).await?;
        if !wanted.uid.is_empty() {
            self.decide(target(AUTHENTICATION, "uids", &wanted.uid)).await?;
        }
        self.check_groups(&wanted.groups).await?;
        self.check_extra(&wanted.extra).await
    }

    fn is_constrained(&self) -> bool {
        self.mode != Mode::Legacy
    }

    /// The group of the resources `users` and `groups`.
    fn group(&self) -> &'static str {
        if self.is_constrained() { AUTHENTICATION } else { "" }
    }

    fn name_target(&self, wanted: &Wanted) -> ResourcePath {
        if let Some((namespace, name)) = wanted.service_account() {
            return target(self.group(), "serviceaccounts", "").object(namespace, name);
        }
        match (self.mode, node_of(&wanted.name)) {
            (Mode::AssociatedNode, _) => target(self.group(), "nodes", "*"),
            (Mode::Legacy, _) | (_, None) => target(self.group(), "users", &wanted.name),
            (_, Some(node)) => target(self.group(), "nodes", node),
        }
    }

    async fn check_groups(&self, groups: &[String]) -> Result<(), Status> {
        let group_target = |name: &str| target(self.group(), "groups", name);
        if self.is_constrained() {
            if groups.iter().any(String::is_empty) {
                let why = "impersonating the empty string group is not allowed";
                return Err(forbidden(&self.attributes(group_target("")), why));
            }
            if groups.iter().any(|group| group == MASTERS) {
                let why = "impersonating the system:masters group is not allowed";
                return Err(forbidden(&self.attributes(group_target(MASTERS)), why));
            }
            if groups.len() >= MANY && self.decide(group_target("*")).await.is_ok() {
                return Ok(());
            }
        }
        for group in groups {
            self.decide(group_target(group)).await?;
        }
        Ok(())
    }

    async fn check_extra(&self, extra: &BTreeMap<String, Vec<String>>) -> Result<(), Status> {
        let extra_target = |key: &str, value: &str| target(AUTHENTICATION, "userextras", value).subresource(key);
        if self.is_constrained() {
            if let Some(why) = extra.iter().find_map(|(key, values)| wrong_extra(key, values)) {
                return Err(forbidden(&self.attributes(extra_target("", "")), &why));
            }
            let is_large = extra.len() >= MANY || extra.values().map(Vec::len).sum::<usize>() >= MANY;
            if is_large && self.decide(extra_target("*", "*")).await.is_ok() {
                return Ok(());
            }
        }
        for (key, values) in extra {
            for value in values {
                self.decide(extra_target(key, value)).await?;
            }
        }
        Ok(())
    }

    fn attributes(&self, at: ResourcePath) -> Attributes {
        Attributes::of_resource(&self.asker, self.mode.verb(), at)
    }

    async fn decide(&self, at: ResourcePath) -> Result<(), Status> {
        access::decide(self.registry, &self.attributes(at)).await
    }
}

fn target(group: &str, resource: &str, name: &str) -> ResourcePath {
    ResourcePath::new(GroupVersionResource::new(group, "v1", resource)).object("", name)
}

/// Why an extra field is not impersonated in a constrained mode. In Kubernetes: `validateExtra`.
fn wrong_extra(key: &str, values: &[String]) -> Option<String> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".to_owned());
    }
    let domain = key.split_once('/').filter(|(domain, path)| !domain.is_empty() && !path.is_empty());
    let Some((domain, _)) = domain else {
        let what = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return Some(wrong_key(key, what));
    };
    if let Some(what) = dns1123_subdomain(domain).into_iter().next() {
        return Some(wrong_key(domain, &what));
    }
    if key.to_lowercase() != key {
        return Some(format!("impersonating a non-lowercase key in extra is not allowed: {key:?}"));
    }
    if values.is_empty() {
        return Some("impersonating empty values in extra is not allowed".to_owned());
    }
    let has_empty = values.iter().any(String::is_empty);
    has_empty.then(|| "impersonating the empty string value in extra is not allowed".to_owned())
}

fn wrong_key(value: &str, what: &str) -> String {
    format!("impersonating an invalid key in extra is not allowed: extra.key: Invalid value: {value:?}: {what}")
}

/// The node that a user is. In Kubernetes: `isNodeUsername`.
fn node_of(name: &str) -> Option<&str> {
    name.strip_prefix(NODE).filter(|node| dns1123_subdomain(node).is_empty())
}

/// The node of the pod whose service account the user is.
fn node_of_service_account(user: &User) -> Option<&str> {
    let is_account = user.name.starts_with("system:serviceaccount:");
    match user.extra.get(NODE_NAME).map(Vec::as_slice) {
        Some([node]) if is_account => Some(node),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(name: &str, groups: &[&str]) -> Wanted {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        Wanted { name: name.to_owned(), uid: String::new(), groups, extra: BTreeMap::new() }
    }

    fn modes(asker: &User, wanted: &Wanted) -> Vec<Mode> {
        Mode::ALL.into_iter().filter(|mode| mode.applies(asker, wanted)).collect()
    }

    #[test]
    fn the_kind_of_the_wanted_user_decides_about_the_modes() {
        let ann = User::new("ann", ["devs"]);
        assert_eq!(modes(&ann, &wanted("bob", &["devs"])), [Mode::UserInfo, Mode::Legacy]);
        assert_eq!(modes(&ann, &wanted("system:node:a", &[])), [Mode::ArbitraryNode, Mode::Legacy]);
        assert_eq!(modes(&ann, &wanted("system:node:a", &["devs"])), [Mode::Legacy]);
        let robot = wanted("system:serviceaccount:shop:robot", &[]);
        assert_eq!(modes(&ann, &robot), [Mode::ServiceAccount, Mode::Legacy]);
    }

    #[test]
    fn a_service_account_impersonates_the_node_of_its_pod() {
        let mut robot = User::new("system:serviceaccount:shop:robot", ["system:serviceaccounts"]);
        robot.extra.insert(NODE_NAME.to_owned(), vec!["a".to_owned()]);
        let (own, other) = (wanted("system:node:a", &[]), wanted("system:node:b", &[]));
        assert_eq!(modes(&robot, &own), [Mode::AssociatedNode, Mode::ArbitraryNode, Mode::Legacy]);
        assert_eq!(modes(&robot, &other), [Mode::ArbitraryNode, Mode::Legacy]);
        assert_eq!(with_node_keys(&robot).extra[NODE_KEYS], [NODE_NAME]);
    }

    #[test]
    fn an_impersonated_node_is_in_the_group_of_nodes_except_with_the_plain_verb() {
        let node = wanted("system:node:a", &[]);
        assert_eq!(into_user(Mode::ArbitraryNode, &node).groups, ["system:nodes", AUTHENTICATED]);
        assert_eq!(into_user(Mode::Legacy, &node).groups, [AUTHENTICATED]);
    }

    #[test]
    fn keys_of_extra_fields_have_a_domain_and_small_letters() {
        let value = ["v".to_owned()];
        assert_eq!(wrong_extra("acme.io/scope", &value), None);
        for (key, what) in [("", "empty string key"), ("scope", "invalid key"), ("acme.io/Scope", "non-lowercase key")]
        {
            assert!(wrong_extra(key, &value).is_some_and(|why| why.contains(what)), "{key}");
        }
        assert!(wrong_extra("acme.io/scope", &[]).is_some());
    }
}
