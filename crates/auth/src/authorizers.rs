use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::Status;
use coracle_registry::{Attributes, Authorizer, Decision, Registry, Rules, User};

use crate::{NodeAuthorizer, Rbac};

/// Whose members may do everything. In Kubernetes: `user.SystemPrivilegedGroup`.
const MASTERS: &str = "system:masters";

/// Asks one authorizer after the other until one decides; the members of `system:masters` are asked of nobody.
///
/// In Kubernetes: `--authorization-mode`.
#[derive(Clone)]
pub struct Authorizers {
    all: Vec<Arc<dyn Authorizer>>,
    allows_everything: bool,
}

/// An authorization mode that is not served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("authorization mode {0:?} is not one of Node, RBAC, AlwaysAllow")]
pub struct UnknownMode(pub String);

impl Authorizers {
    /// Reads a list of modes, such as `Node,RBAC`.
    pub fn parse(modes: &str) -> Result<Self, UnknownMode> {
        let mut all: Vec<Arc<dyn Authorizer>> = Vec::new();
        let mut allows_everything = false;
        for mode in modes.split(',').map(str::trim).filter(|mode| !mode.is_empty()) {
            match mode {
                "Node" => all.push(Arc::new(NodeAuthorizer::new())),
                "RBAC" => all.push(Arc::new(Rbac::default())),
                "AlwaysAllow" => {
                    all.push(Arc::new(AlwaysAllow));
                    allows_everything = true;
                }
                other => return Err(UnknownMode(other.to_owned())),
            }
        }
        Ok(Self { all, allows_everything })
    }

    /// Whether `AlwaysAllow` is among the modes.
    pub fn allows_everything(&self) -> bool {
        self.allows_everything
    }
}

#[async_trait]
impl Authorizer for Authorizers {
    async fn authorize(&self, registry: &Registry, attributes: &Attributes) -> Result<Decision, Status> {
        if attributes.user.is_in(MASTERS) {
            return Ok(Decision::Allow(String::new()));
        }
        let mut reasons = Vec::new();
        for authorizer in &self.all {
            match authorizer.authorize(registry, attributes).await? {
                Decision::NoOpinion(why) => reasons.extend((!why.is_empty()).then_some(why)),
                decided => return Ok(decided),
            }
        }
        Ok(Decision::NoOpinion(reasons.join("\n")))
    }

    async fn rules(&self, registry: &Registry, user: &User, namespace: &str) -> Result<Rules, Status> {
        let mut rules = Rules::default();
        for authorizer in &self.all {
            let own = authorizer.rules(registry, user, namespace).await?;
            rules.resources.extend(own.resources);
            rules.paths.extend(own.paths);
            rules.incomplete |= own.incomplete;
            if rules.evaluation_error.is_empty() {
                rules.evaluation_error = own.evaluation_error;
            }
        }
        Ok(rules)
    }
}

/// Allows everything.
struct AlwaysAllow;

#[async_trait]
impl Authorizer for AlwaysAllow {
    async fn authorize(&self, _registry: &Registry, _attributes: &Attributes) -> Result<Decision, Status> {
        Ok(Decision::Allow(String::new()))
    }

    async fn rules(&self, _registry: &Registry, _user: &User, _namespace: &str) -> Result<Rules, Status> {
        let star = || vec!["*".to_owned()];
        let resource = coracle_registry::ResourceRule {
            verbs: star(),
            api_groups: star(),
            resources: star(),
            resource_names: Vec::new(),
        };
        let path = coracle_registry::PathRule { verbs: star(), paths: star() };
        Ok(Rules { resources: vec![resource], paths: vec![path], ..Rules::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_read_and_unknown_ones_named() {
        let both = Authorizers::parse("Node,RBAC").unwrap();
        assert_eq!(both.all.len(), 2);
        assert_eq!(Authorizers::parse("ABAC").err(), Some(UnknownMode("ABAC".into())));
    }
}
