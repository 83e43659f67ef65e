use std::collections::BTreeMap;
use std::sync::Arc;

use coracle_meta::{FieldSelector, GroupResource, LabelSelector, Status};
use coracle_registry::{Attributes, Credentials, Decision, ResourceTarget, Target, User};
use http::HeaderMap;

use crate::front::query::{Plus, percent_decode};
use crate::front::request_info::RequestInfo;
use crate::server::{PeerCertificates, Server};

const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";
const ANONYMOUS: &str = "system:anonymous";
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// Who the credentials of a request prove to be asking. Without any it is the anonymous user; with wrong ones nobody.
pub(crate) async fn authenticate(server: &Server, parts: &http::request::Parts) -> Result<Arc<User>, Status> {
    let credentials = Credentials {
        bearer_token: bearer_token(&parts.headers),
        certificates: parts.extensions.get::<PeerCertificates>().map(|peer| peer.0.clone()).unwrap_or_default(),
    };
    let nothing_shown = credentials == Credentials::default();
    if nothing_shown {
        return Ok(Arc::new(User::new(ANONYMOUS, [UNAUTHENTICATED])));
    }
    match server.authenticator.authenticate(&server.registry, &credentials).await {
        Ok(Some(authenticated)) => Ok(vouched_for(&authenticated.user)),
        Ok(None) if credentials.bearer_token.is_none() => Ok(Arc::new(User::new(ANONYMOUS, [UNAUTHENTICATED]))),
        Ok(None) => Err(Status::unauthorized()),
        Err(status) if status.code == 401 => Err(Status::unauthorized()),
        Err(status) => Err(status),
    }
}

/// A user whom the transport itself vouches for.
pub(crate) fn vouched_for(user: &User) -> Arc<User> {
    let mut user = user.clone();
    add_group(&mut user, AUTHENTICATED);
    Arc::new(user)
}

fn bearer_token(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?.trim();
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| token.to_owned())
}

fn add_group(user: &mut User, group: &str) {
    let known = [AUTHENTICATED, UNAUTHENTICATED].iter().any(|group| user.is_in(group));
    if !known {
        user.groups.push(group.to_owned());
    }
}

/// What `user` asks for.
pub(crate) fn attributes(user: &Arc<User>, info: &RequestInfo) -> Attributes {
    let target = match &info.resource {
        None => Target::Path(info.path.clone()),
        Some(at) => Target::Resource(ResourceTarget {
            group: at.group.clone(),
            version: at.version.clone(),
            resource: at.resource.clone(),
            subresource: at.subresource.clone(),
            namespace: at.namespace.clone(),
            name: at.name.clone(),
            field_selector: FieldSelector::default(),
            label_selector: LabelSelector::default(),
        }),
    };
    Attributes { user: Arc::clone(user), verb: info.verb.clone(), target }
}

/// Refuses what is not allowed. In Kubernetes: `WithAuthorization`.
pub(crate) async fn decide(server: &Server, attributes: Attributes) -> Result<(), Status> {
    match server.registry.authorize(&attributes).await? {
        Decision::Allow(_) => Ok(()),
        Decision::Deny(why) | Decision::NoOpinion(why) => Err(forbidden(&attributes, &why)),
    }
}

/// The 403 with its sentence. In Kubernetes: `responsewriters.ForbiddenStatusError`.
fn forbidden(attributes: &Attributes, why: &str) -> Status {
    let Attributes { user, verb, target } = attributes;
    let sentence = match target {
        Target::Path(path) => format!("User {:?} cannot {verb} path {path:?}", user.name),
        Target::Resource(at) => {
            let resource = if at.subresource.is_empty() {
                at.resource.clone()
            } else {
                format!("{}/{}", at.resource, at.subresource)
            };
            let place = if at.namespace.is_empty() {
                "at the cluster scope".to_owned()
            } else {
                format!("in the namespace {:?}", at.namespace)
            };
            format!("User {:?} cannot {verb} resource {resource:?} in API group {:?} {place}", user.name, at.group)
        }
    };
    let mut sentence = sentence.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    if !why.is_empty() {
        sentence = format!("{sentence}: {why}");
    }
    let (resource, name) = match target {
        Target::Resource(at) => (GroupResource::new(at.group.clone(), at.resource.clone()), at.name.as_str()),
        Target::Path(_) => (GroupResource::default(), ""),
    };
    Status::forbidden(&resource, name, &sentence)
}

/// Who the request says it is made for, if the asker may speak for them. In Kubernetes: `WithImpersonation`.
pub(crate) async fn impersonate(server: &Server, user: Arc<User>, headers: &HeaderMap) -> Result<Arc<User>, Status> {
    let Some(wanted) = Wanted::read(headers)? else { return Ok(user) };
    for target in wanted.targets() {
        let attributes =
            Attributes { user: Arc::clone(&user), verb: "impersonate".to_owned(), target: Target::Resource(target) };
        decide(server, attributes).await?;
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
    fn targets(&self) -> Vec<ResourceTarget> {
        let target = |group: &str, resource: &str, name: &str| ResourceTarget {
            group: group.to_owned(),
            version: "v1".to_owned(),
            resource: resource.to_owned(),
            name: name.to_owned(),
            ..ResourceTarget::default()
        };
        let mut targets = Vec::new();
        match self.service_account() {
            Some((namespace, name)) => {
                targets.push(ResourceTarget { namespace: namespace.to_owned(), ..target("", "serviceaccounts", name) })
            }
            None => targets.push(target("", "users", &self.name)),
        }
        targets.extend(self.groups.iter().map(|group| target("", "groups", group)));
        for (key, values) in &self.extra {
            targets.extend(values.iter().map(|value| ResourceTarget {
                subresource: key.clone(),
                ..target("authentication.k8s.io", "userextras", value)
            }));
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
    fn a_bearer_token_is_read_whatever_the_case_of_the_word() {
        let mut headers = HeaderMap::new();
        assert_eq!(bearer_token(&headers), None);
        headers.insert(http::header::AUTHORIZATION, HeaderValue::from_static("bearer  abc "));
        assert_eq!(bearer_token(&headers).as_deref(), Some("abc"));
        headers.insert(http::header::AUTHORIZATION, HeaderValue::from_static("Basic abc"));
        assert_eq!(bearer_token(&headers), None);
    }

    #[test]
    fn an_impersonated_service_account_is_in_the_groups_of_service_accounts() {
        let mut headers = HeaderMap::new();
        headers.insert("impersonate-user", HeaderValue::from_static("system:serviceaccount:shop:robot"));
        let wanted = Wanted::read(&headers).unwrap().unwrap();
        assert_eq!(wanted.targets()[0].resource, "serviceaccounts");
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

    #[test]
    fn the_refusal_names_user_verb_resource_and_place() {
        let attributes = Attributes {
            user: Arc::new(User::new("nobody", ["devs"])),
            verb: "list".into(),
            target: Target::Resource(ResourceTarget {
                resource: "secrets".into(),
                namespace: "shop".into(),
                ..ResourceTarget::default()
            }),
        };
        assert_eq!(
            forbidden(&attributes, "").message,
            "secrets is forbidden: User \"nobody\" cannot list resource \"secrets\" in API group \"\" in the namespace \"shop\""
        );
    }
}
