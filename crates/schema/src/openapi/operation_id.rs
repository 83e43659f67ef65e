/// The first words of operation ids.
const VERBS: [&str; 9] = ["connect", "create", "delete", "get", "list", "patch", "read", "replace", "watch"];

/// The id and the tag of an operation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OperationName {
    pub id: String,
    pub tag: String,
}

/// The operation id of a route, with group and version after the verb, because ids are unique.
///
/// In Kubernetes: `GetOperationIDAndTags`.
pub(super) fn of_path(path: &str, route: &str) -> OperationName {
    let verb = VERBS.into_iter().find(|verb| route.starts_with(verb)).unwrap_or_default();
    let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    if parts.first() == Some(&"api") {
        parts.splice(..1, ["apis", "core"]);
    }
    let mut id = verb.to_owned();
    let tag = match parts.as_slice() {
        ["apis", group, rest @ ..] => {
            let group = group.strip_suffix(".k8s.io").unwrap_or(group);
            id += &joined(group, true);
            let mut tag = joined(group, false);
            if let Some(version) = rest.first() {
                id += &joined(version, true);
                tag = format!("{tag}_{}", joined(version, false));
            }
            tag
        }
        [first, ..] => joined(first, false),
        [] => String::new(),
    };
    id += &joined(&route[verb.len()..], true);
    OperationName { id, tag }
}

/// Joins the words of a text in camel case. In Kubernetes: `ToValidOperationID`.
fn joined(text: &str, mut capital: bool) -> String {
    let mut out = String::new();
    for (at, sign) in text.char_indices() {
        let stays = sign.is_ascii_lowercase() || sign == '_' || at != 0 && sign.is_ascii_digit();
        if !stays && !sign.is_ascii_uppercase() {
            capital = true;
        } else if capital {
            out.push(sign.to_ascii_uppercase());
            capital = false;
        } else {
            out.push(sign);
        }
    }
    out
}

/// `Status`, `Ephemeralcontainers`: a subresource in operation ids.
pub(super) fn titled(subresource: &str) -> String {
    let mut letters = subresource.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters.map(|letter| letter.to_ascii_lowercase())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(path: &str, route: &str) -> String {
        of_path(path, route).id
    }

    #[test]
    fn group_and_version_stand_behind_the_verb() {
        assert_eq!(id("/api/v1/pods", "listPodForAllNamespaces"), "listCoreV1PodForAllNamespaces");
        assert_eq!(
            id("/apis/rbac.authorization.k8s.io/v1/clusterroles", "deletecollectionClusterRole"),
            "deleteRbacAuthorizationV1CollectionClusterRole"
        );
        assert_eq!(id("/apis/cert-manager.io/v1/x", "readNamespacedIssuer"), "readCertManagerIoV1NamespacedIssuer");
        assert_eq!(id("/apis/", "getAPIVersions"), "getAPIVersions");
        assert_eq!(id("/apis/apps/", "getAPIGroup"), "getAppsAPIGroup");
    }

    #[test]
    fn an_operation_is_filed_under_its_group_and_version() {
        assert_eq!(of_path("/apis/3d.example.com/v1beta1/x", "getX").tag, "DExampleCom_v1beta1");
        assert_eq!(of_path("/api/", "getAPIVersions").tag, "core");
        assert_eq!(of_path("/version/", "getCodeVersion").tag, "version");
    }

    #[test]
    fn a_subresource_has_one_capital_letter() {
        assert_eq!(titled("ephemeralcontainers"), "Ephemeralcontainers");
        assert_eq!(titled(""), "");
    }
}
