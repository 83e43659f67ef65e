use std::sync::Arc;

use async_trait::async_trait;
use coracle_meta::{Status, reason};
use coracle_registry::{Attributes, Authorizer, Decision, Registry, Rules, User};

use crate::aggregate::aggregate;
use crate::{AccessWebhook, NodeAuthorizer, Rbac};

/// The group whose members may do everything. In Kubernetes: `user.SystemPrivilegedGroup`.
const MASTERS: &str = "system:masters";

/// Calls one authorizer after the other until one decides, even after errors. Members of `system:masters` are allowed
/// everything without a call.
///
/// In Kubernetes: `--authorization-mode`.
#[derive(Clone)]
pub struct Authorizers {
    all: Vec<Named>,
    allows_everything: bool,
}

/// An authorizer with its name. In Kubernetes: `NamedAuthorizer`.
#[derive(Clone)]
struct Named {
    name: String,
    authorizer: Arc<dyn Authorizer>,
}

/// Why a list of authorization modes is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModeError {
    /// It contains an unknown mode.
    #[error("authorization mode {0:?} is not one of Node, RBAC, Webhook, AlwaysAllow, AlwaysDeny")]
    Unknown(String),
    /// It contains a mode twice.
    #[error("authorization-mode {0:?} has mode specified more than once")]
    Repeated(String),
    /// It contains `Webhook`, but no webhook is configured.
    #[error("authorization-mode Webhook's authorization config file not passed")]
    NoWebhook,
    /// A webhook is configured, but the list does not contain `Webhook`.
    #[error("cannot specify --authorization-webhook-config-file without mode Webhook")]
    WebhookUnused,
}

impl Authorizers {
    /// Parses a list of modes, such as `Node,RBAC`; the mode `Webhook` calls `webhook`.
    ///
    /// # Errors
    /// If a mode is unknown or repeated, or only one of `webhook` and the mode `Webhook` is given.
    pub fn parse(modes: &str, webhook: Option<AccessWebhook>) -> Result<Self, ModeError> {
        let named: Vec<&str> = modes.split(',').map(str::trim).filter(|mode| !mode.is_empty()).collect();
        if (1..named.len()).any(|at| named[..at].contains(&named[at])) {
            return Err(ModeError::Repeated(modes.to_owned()));
        }
        if webhook.is_some() && !named.contains(&"Webhook") {
            return Err(ModeError::WebhookUnused);
        }
        let (mut all, mut webhook) = (Vec::new(), webhook);
        for mode in &named {
            let authorizer: Arc<dyn Authorizer> = match *mode {
                "Node" => Arc::new(NodeAuthorizer::new()),
                "RBAC" => Arc::new(Rbac::default()),
                "Webhook" => Arc::new(webhook.take().ok_or(ModeError::NoWebhook)?),
                "AlwaysAllow" => Arc::new(AlwaysAllow),
                "AlwaysDeny" => Arc::new(AlwaysDeny),
                other => return Err(ModeError::Unknown(other.to_owned())),
            };
            let name = if *mode == "Webhook" { "default".to_owned() } else { mode.to_lowercase() };
            all.push(Named { name, authorizer });
        }
        Ok(Self { all, allows_everything: named.contains(&"AlwaysAllow") })
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
        let (mut reasons, mut errors) = (Vec::new(), Vec::new());
        for Named { name, authorizer } in &self.all {
            match authorizer.authorize(registry, attributes).await {
                Ok(Decision::NoOpinion(why)) if why.is_empty() => {}
                Ok(Decision::NoOpinion(why)) if registry.release().has("NamedAuthorizers") => {
                    reasons.push(format!("{name}: {why}"))
                }
                Ok(Decision::NoOpinion(why)) => reasons.push(why),
                Ok(decided) => return Ok(decided),
                Err(status) => errors.push(status),
            }
        }
        match errors.len() {
            0 => Ok(Decision::NoOpinion(reasons.join("\n"))),
            1 => Err(errors.remove(0)),
            _ => {
                let messages: Vec<_> = errors.into_iter().map(|status| status.message).collect();
                Err(Status::failure(500, reason::INTERNAL_ERROR, aggregate(&messages)))
            }
        }
    }

    /// The rules of all authorizers. The list is incomplete if one of them fails.
    async fn rules(&self, registry: &Registry, user: &User, namespace: &str) -> Result<Rules, Status> {
        let (mut rules, mut errors) = (Rules::default(), Vec::new());
        for Named { authorizer, .. } in &self.all {
            match authorizer.rules(registry, user, namespace).await {
                Ok(own) => {
                    rules.resources.extend(own.resources);
                    rules.paths.extend(own.paths);
                    rules.incomplete |= own.incomplete;
                    errors.extend((!own.evaluation_error.is_empty()).then_some(own.evaluation_error));
                }
                Err(status) => {
                    rules.incomplete = true;
                    errors.push(status.message);
                }
            }
        }
        if !errors.is_empty() {
            rules.evaluation_error = aggregate(&errors);
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

/// Allows nothing. In Kubernetes: `alwaysDenyAuthorizer`.
struct AlwaysDeny;

#[async_trait]
impl Authorizer for AlwaysDeny {
    async fn authorize(&self, _registry: &Registry, _attributes: &Attributes) -> Result<Decision, Status> {
        Ok(Decision::NoOpinion("Everything is forbidden.".to_owned()))
    }

    async fn rules(&self, _registry: &Registry, _user: &User, _namespace: &str) -> Result<Rules, Status> {
        Ok(Rules::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_read_and_unknown_ones_named() {
        let parse = |modes: &str| Authorizers::parse(modes, None).map(|parsed| parsed.all.len());
        assert_eq!(parse("Node,RBAC"), Ok(2));
        assert_eq!(parse("ABAC"), Err(ModeError::Unknown("ABAC".into())));
        assert_eq!(parse("RBAC,RBAC"), Err(ModeError::Repeated("RBAC,RBAC".into())));
        assert_eq!(parse("Webhook"), Err(ModeError::NoWebhook));
    }
}
