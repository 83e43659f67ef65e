use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::Status;
use coracle_registry::{Authenticated, Authenticator, Credentials, Registry, User};

/// Users by fixed tokens. In Kubernetes: `--token-auth-file`.
#[derive(Clone, Default)]
pub struct StaticTokens {
    users: BTreeMap<String, Arc<User>>,
}

/// An invalid line of a token file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("token file, line {line}: {why}")]
pub struct TokenFileError {
    /// The line, from 1.
    pub line: usize,
    /// The error.
    pub why: &'static str,
}

impl StaticTokens {
    /// Parses lines of `token,user,uid` or `token,user,uid,"group1,group2"`. Empty lines and lines that begin with `#`
    /// are ignored.
    pub fn parse(text: &str) -> Result<Self, TokenFileError> {
        let mut users = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            let error = |why| TokenFileError { line: index + 1, why };
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let columns = split_line(line).ok_or_else(|| error("a quote is not closed"))?;
            let [token, name, uid, rest @ ..] = columns.as_slice() else {
                return Err(error("three columns are needed: token, user, uid"));
            };
            if token.is_empty() || name.is_empty() {
                return Err(error("token and user must not be empty"));
            }
            let groups = rest.first().into_iter().flat_map(|groups| groups.split(','));
            let groups = groups.map(str::trim).filter(|group| !group.is_empty());
            let user = User { uid: uid.clone(), ..User::new(name, groups) };
            if users.insert(token.clone(), Arc::new(user)).is_some() {
                return Err(error("the token stands in an earlier line, too"));
            }
        }
        Ok(Self { users })
    }
}

/// The columns of a line of comma-separated values; `None` if a quote is not closed.
fn split_line(line: &str) -> Option<Vec<String>> {
    let mut columns = Vec::new();
    let mut rest = line.trim_end();
    loop {
        rest = rest.trim_start();
        let mut column = String::new();
        match rest.strip_prefix('"') {
            Some(mut inside) => loop {
                let end = inside.find('"')?;
                column.push_str(&inside[..end]);
                inside = &inside[end + 1..];
                match inside.strip_prefix('"') {
                    Some(after) => {
                        column.push('"');
                        inside = after;
                    }
                    None => {
                        rest = inside.trim_start();
                        break;
                    }
                }
            },
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                column.push_str(rest[..end].trim_end());
                rest = &rest[end..];
            }
        }
        columns.push(column);
        match rest.strip_prefix(',') {
            Some(after) => rest = after,
            None => return Some(columns),
        }
    }
}

#[async_trait]
impl Authenticator for StaticTokens {
    async fn authenticate(
        &self,
        _registry: &Registry,
        credentials: &Credentials,
    ) -> Result<Option<Authenticated>, Status> {
        let user = credentials.bearer_token.as_ref().and_then(|token| self.users.get(token));
        Ok(user.map(|user| Authenticated { user: Arc::clone(user), audiences: Vec::new(), warnings: Vec::new() }))
    }
}

/// Tokens are not shown.
impl std::fmt::Debug for StaticTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StaticTokens").field("users", &self.users.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_is_token_user_uid_and_groups() {
        let tokens = StaticTokens::parse("# head\nt1,ann,u1,\"devs,ops\"\n\nt2, bob ,u2\n").unwrap();
        assert_eq!(tokens.users["t1"].groups, ["devs", "ops"]);
        assert_eq!(tokens.users["t2"].name, "bob");
        assert!(tokens.users["t2"].groups.is_empty());
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, line) in [("a,b", 1), ("t,u,i\n,u,i", 2), ("t,u,i\nt,v,j", 2), ("t,u,i,\"open", 1)] {
            assert_eq!(StaticTokens::parse(text).unwrap_err().line, line, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_file_panics(text in "[a-z,\"#\n ]{0,60}") {
            let _ = StaticTokens::parse(&text);
        }
    }
}
