use std::collections::BTreeMap;

use coracle_meta::names::{dns1123_label, dns1123_subdomain};
use coracle_meta::{GroupVersionResource, ResourcePath, Status, go_quote};
use coracle_registry::User;
use coracle_release::Release;
use http::{HeaderMap, HeaderValue};

use crate::front::authenticate::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, add_group};
use crate::query::{Plus, percent_decode};

const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// The user in the headers `Impersonate-*`.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) groups: Vec<String>,
    pub(super) extra: BTreeMap<String, Vec<String>>,
}

impl Wanted {
    /// # Errors
    /// 400 if a value is not UTF-8, or there is no user: an ignored header would leave the client with permissions that
    /// it gave up. Unlike Kubernetes, where a value can have any bytes.
    pub(crate) fn read(headers: &HeaderMap, release: &Release) -> Result<Option<Self>, Status> {
        let texts = |name: &str| -> Result<Vec<String>, Status> {
            headers.get_all(name).iter().map(|value| text(name, value)).collect()
        };
        // The first of several values counts, as in Go.
        let first = |name: &str| Ok::<_, Status>(texts(name)?.into_iter().next().unwrap_or_default());
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (header, value) in headers {
            if let Some(key) = header.as_str().strip_prefix("impersonate-extra-") {
                let value = text(header.as_str(), value)?;
                extra.entry(percent_decode(key, Plus::IsItself)).or_default().push(value);
            }
        }
        let wanted = Self {
            name: first("impersonate-user")?,
            uid: first("impersonate-uid")?,
            groups: texts("impersonate-group")?,
            extra,
        };
        match (wanted.name.is_empty(), wanted.is_only_a_name()) {
            (true, true) => Ok(None),
            (true, false) => Err(Status::bad_request(wanted.without_user(release))),
            (false, _) => Ok(Some(wanted)),
        }
    }

    /// Whether no field other than the name is set.
    pub(super) fn is_only_a_name(&self) -> bool {
        self.groups.is_empty() && self.extra.is_empty() && self.uid.is_empty()
    }

    /// In Kubernetes: the error of `processImpersonationHeaders`, which prints the user as Go source; before, that of
    /// `buildImpersonationRequests`, which prints each request as an `ObjectReference`.
    fn without_user(&self, release: &Release) -> String {
        if release.enabled("ConstrainedImpersonation") {
            return format!("requested {} without impersonating a user name", self.go_source());
        }
        let group = self.groups.iter().map(|name| format!("{{Group  {name}    }}"));
        let extra = self.extra.iter().flat_map(|(key, values)| {
            values.iter().map(move |value| format!("{{UserExtra  {value}  authentication.k8s.io/v1  {key}}}"))
        });
        let uid = (!self.uid.is_empty()).then(|| format!("{{UID  {}  authentication.k8s.io/v1  }}", self.uid));
        let requests: Vec<String> = group.chain(extra).chain(uid).collect();
        format!("requested [{}] without impersonating a user", requests.join(" "))
    }

    /// The user as Go prints it with `%#v`.
    fn go_source(&self) -> String {
        let list = |texts: &[String]| match texts {
            [] => "[]string(nil)".to_owned(),
            texts => format!("[]string{{{}}}", texts.iter().map(|text| go_quote(text)).collect::<Vec<_>>().join(", ")),
        };
        let entries = self.extra.iter().map(|(key, values)| format!("{}:{}", go_quote(key), list(values)));
        let entries = entries.collect::<Vec<_>>().join(", ");
        let extra = if self.extra.is_empty() { "(nil)".to_owned() } else { format!("{{{entries}}}") };
        let (name, uid, groups) = (go_quote(&self.name), go_quote(&self.uid), list(&self.groups));
        format!("&user.DefaultInfo{{Name:{name}, UID:{uid}, Groups:{groups}, Extra:map[string][]string{extra}}}")
    }

    /// In Kubernetes: `SplitUsername`; a name that is not that of a service account is the name of a user.
    pub(super) fn service_account(&self) -> Option<(&str, &str)> {
        let (namespace, name) = self.name.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')?;
        let is_account = dns1123_label(namespace).is_empty() && dns1123_subdomain(name).is_empty();
        is_account.then_some((namespace, name))
    }

    /// The resources that the client must be allowed to impersonate, in this order.
    pub(super) fn targets(&self) -> Vec<ResourcePath> {
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

    pub(super) fn into_user(self) -> User {
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

fn text(name: &str, value: &HeaderValue) -> Result<String, Status> {
    let text = std::str::from_utf8(value.as_bytes());
    text.map(str::to_owned).map_err(|_| Status::bad_request(format!("the header {name} is not UTF-8")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::header_pairs::headers;

    fn read(pairs: &[(&'static str, &[u8])]) -> Result<Option<Wanted>, Status> {
        Wanted::read(&headers(pairs), &Release::default())
    }

    #[test]
    fn every_header_that_names_an_identity_is_read_as_utf_8_or_refused() {
        let of_all: [(&str, &[u8]); 4] = [
            ("impersonate-user", "jürgen".as_bytes()),
            ("impersonate-uid", "ü".as_bytes()),
            ("impersonate-group", "Bücher".as_bytes()),
            ("impersonate-extra-scope", "größe".as_bytes()),
        ];
        let user = read(&of_all).unwrap().unwrap().into_user();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("jürgen", "ü"));
        assert_eq!(user.groups, ["Bücher", "system:authenticated"]);
        assert_eq!(user.extra["scope"], ["größe"]);
        for (name, _) in of_all {
            let in_latin_1 = headers(&[("impersonate-user", b"ann"), (name, b"j\xfcrgen")]);
            let refused = match name {
                "impersonate-user" => read(&[(name, b"j\xfcrgen")]),
                _ => Wanted::read(&in_latin_1, &Release::default()),
            };
            assert_eq!(refused.unwrap_err().code, 400, "{name}");
        }
        let second =
            headers(&[("impersonate-group", b"a"), ("impersonate-group", b"\xff"), ("impersonate-user", b"ann")]);
        assert_eq!(Wanted::read(&second, &Release::default()).unwrap_err().code, 400);
    }

    #[test]
    fn an_empty_user_is_no_user_and_an_empty_group_is_a_group() {
        assert!(read(&[("impersonate-user", b"")]).unwrap().is_none());
        for more in ["impersonate-group", "impersonate-extra-scope"] {
            let without_user = headers(&[("impersonate-user", b""), (more, b"")]);
            assert_eq!(Wanted::read(&without_user, &Release::default()).unwrap_err().code, 400, "{more}");
        }
        let wanted = read(&[("impersonate-user", b"ann"), ("impersonate-group", b"")]).unwrap();
        assert_eq!(wanted.unwrap().targets().len(), 2);
    }

    #[test]
    fn other_names_than_those_of_service_accounts_are_users() {
        for name in ["system:serviceaccount:shop:a:b", "system:serviceaccount::robot", "system:serviceaccount:shop:"] {
            let wanted = read(&[("impersonate-user", name.as_bytes())]).unwrap().unwrap();
            assert_eq!(wanted.targets()[0].resource.resource, "users", "{name}");
            assert_eq!(wanted.into_user().groups, ["system:authenticated"], "{name}");
        }
    }

    #[test]
    fn an_impersonated_service_account_is_in_the_groups_of_service_accounts() {
        let mut headers = HeaderMap::new();
        headers.insert("impersonate-user", HeaderValue::from_static("system:serviceaccount:shop:robot"));
        let wanted = Wanted::read(&headers, &Release::default()).unwrap().unwrap();
        assert_eq!(wanted.targets()[0].resource.resource, "serviceaccounts");
        assert_eq!(wanted.targets()[0].namespace, "shop");
        let user = wanted.into_user();
        assert_eq!(user.groups, ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"]);
    }

    #[test]
    fn groups_without_a_user_are_refused() {
        let mut headers = HeaderMap::new();
        headers.insert("impersonate-group", HeaderValue::from_static("devs"));
        assert_eq!(Wanted::read(&headers, &Release::default()).unwrap_err().code, 400);
    }

    #[test]
    fn a_group_without_a_user_is_quoted_as_the_release_quotes_it() {
        let group = headers(&[("impersonate-group", b"devs")]);
        let refused = |release: &Release| Wanted::read(&group, release).unwrap_err().message;
        assert_eq!(
            refused(&Release::named("1.35").unwrap()),
            "requested [{Group  devs    }] without impersonating a user"
        );
        assert_eq!(
            refused(&Release::named("1.36").unwrap()),
            r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"devs"}, Extra:map[string][]string(nil)} without impersonating a user name"#
        );
    }
}
