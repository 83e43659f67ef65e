use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::{GroupVersionResource, ResourcePath, Status};
use coracle_registry::{Attributes, Registry, User};
use http::HeaderMap;

use crate::front::access;
use crate::front::authenticate::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, add_group};
use crate::front::query::{Plus, percent_decode};

const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// Who the request says it is made for, if the asker may speak for them. In Kubernetes: `WithImpersonation`.
pub(crate) async fn impersonate(
    registry: &Registry,
    user: Arc<User>,
    headers: &HeaderMap,
) -> Result<Arc<User>, Status> {
    let Some(wanted) = Wanted::read(headers)? else { return Ok(user) };
    for target in wanted.targets() {
        access::decide(registry, &Attributes::of_resource(&user, "impersonate", target)).await?;
    }
    Ok(Arc::new(wanted.into_user()))
}

/// Whom the headers `Impersonate-*` name.
#[derive(Debug)]
struct Wanted {
    name: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

impl Wanted {
    fn read(headers: &HeaderMap) -> Result<Option<Self>, Status> {
        let texts = |name: &str| -> Vec<String> {
            headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).map(str::to_owned).collect()
        };
        let first = |name: &str| texts(name).into_iter().next().unwrap_or_default();
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (header, value) in headers {
            if let (Some(key), Ok(value)) = (header.as_str().strip_prefix("impersonate-extra-"), value.to_str()) {
                extra.entry(percent_decode(key, Plus::IsItself)).or_default().push(value.to_owned());
            }
        }
        let wanted = Self {
            name: first("impersonate-user"),
            uid: first("impersonate-uid"),
            groups: texts("impersonate-group"),
            extra,
        };
        let more = !wanted.groups.is_empty() || !wanted.extra.is_empty() || !wanted.uid.is_empty();
        match (wanted.name.is_empty(), more) {
            (true, false) => Ok(None),
            (true, true) => Err(Status::bad_request(wanted.without_user())),
            (false, _) => Ok(Some(wanted)),
        }
    }

    /// In Kubernetes: the error of `buildImpersonationRequests`, which prints each request as an `ObjectReference`.
    fn without_user(&self) -> String {
        let group = self.groups.iter().map(|name| format!("{{Group  {name}    }}"));
        let extra = self.extra.iter().flat_map(|(key, values)| {
            values.iter().map(move |value| format!("{{UserExtra  {value}  authentication.k8s.io/v1  {key}}}"))
        });
        let uid = (!self.uid.is_empty()).then(|| format!("{{UID  {}  authentication.k8s.io/v1  }}", self.uid));
        let requests: Vec<String> = group.chain(extra).chain(uid).collect();
        format!("requested [{}] without impersonating a user", requests.join(" "))
    }

    fn service_account(&self) -> Option<(&str, &str)> {
        self.name.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')
    }

    /// What the asker has to be allowed to impersonate, one thing after the other.
    fn targets(&self) -> Vec<ResourcePath> {
        let target = |group: &str, resource: &str, name: &str| {
            ResourcePath::new(GroupVersionResource::new(group, "v1", resource)).object("", name)
        };
        let mut targets = vec![match self.service_account() {
            Some((namespace, name)) => target("", "serviceaccounts", "").object(namespace, name),
            None => target("", "users", &self.name),
        }];
        targets.extend(self.groups.iter().map(|group| target("", "groups", group)));
        for (key, values) in &self.extra {
            let extra = |value| target("authentication.k8s.io", "userextras", value).subresource(key);
            targets.extend(values.iter().map(|value| extra(value)));
        }
        if !self.uid.is_empty() {
            targets.push(target("authentication.k8s.io", "uids", &self.uid));
        }
        targets
    }

    fn into_user(self) -> User {
        let mut groups = self.groups.clone();
        if let (Some((namespace, _)), true) = (self.service_account(), groups.is_empty()) {
            groups = vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
        }
        let anonymous = self.name == ANONYMOUS;
        let mut user = User { name: self.name, uid: self.uid, groups, extra: self.extra };
        add_group(&mut user, if anonymous { UNAUTHENTICATED } else { AUTHENTICATED });
        user
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn an_impersonated_service_account_is_in_the_groups_of_service_accounts() {
        let mut headers = HeaderMap::new();
        headers.insert("impersonate-user", HeaderValue::from_static("system:serviceaccount:shop:robot"));
        let wanted = Wanted::read(&headers).unwrap().unwrap();
        assert_eq!(wanted.targets()[0].resource.resource, "serviceaccounts");
        assert_eq!(wanted.targets()[0].namespace, "shop");
        let user = wanted.into_user();
        assert_eq!(user.groups, ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"]);
    }

    #[test]
    fn groups_without_a_user_are_refused() {
        let mut headers = HeaderMap::new();
        headers.insert("impersonate-group", HeaderValue::from_static("devs"));
        assert_eq!(Wanted::read(&headers).unwrap_err().code, 400);
    }
}
