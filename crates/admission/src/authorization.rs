//! The authorizer for CEL expressions.

use std::sync::Arc;

use coracle_expression::{Allowance, Authorizer, AuthorizerAttributes, AuthorizerDecision, Variables};
use coracle_meta::{FieldSelector, GroupVersionResource, LabelSelector, ResourcePath, Status};
use coracle_registry::{self as registry, Attributes, Review, Target, User};
use parking_lot::Mutex;

/// The decisions of the authorizer for the expressions of one request.
///
/// An expression runs without waiting, and an authorizer may have to wait. An undecided check is therefore recorded,
/// and the expressions run again when it is decided. In Kubernetes: `admissionauthorizer.NewCachingAuthorizer`.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    known: Mutex<Vec<(AuthorizerAttributes, AuthorizerDecision)>>,
    open: Mutex<Vec<AuthorizerAttributes>>,
}

impl Authorizer for Answers {
    fn decide(&self, question: &AuthorizerAttributes) -> AuthorizerDecision {
        let known = self.known.lock().iter().find(|(asked, _)| asked == question).map(|(_, answer)| answer.clone());
        known.unwrap_or_else(|| {
            self.open.lock().push(question.clone());
            AuthorizerDecision {
                error: Some("the authorizer has not been asked".to_owned()),
                ..AuthorizerDecision::default()
            }
        })
    }
}

impl Answers {
    /// Adds the authorizer and the resource of the request to the variables.
    pub(crate) fn show(self: &Arc<Self>, review: &Review<'_>, variables: &mut Variables<'_>) {
        let at = &review.request.at;
        let about = AuthorizerAttributes {
            group: at.resource.group.clone(),
            resource: at.resource.resource.clone(),
            subresource: at.subresource.clone(),
            namespace: at.namespace.clone(),
            name: review.object().map_or(at.name.as_str(), |object| object.name()).to_owned(),
            ..AuthorizerAttributes::default()
        };
        variables.set_authorizer("authorizer", Arc::clone(self) as Arc<dyn Authorizer>);
        variables.set_resource_check("authorizer.requestResource", Arc::clone(self) as Arc<dyn Authorizer>, about);
    }

    /// Runs expressions until all their checks are decided. Each round decides at least one check, and the cost of a
    /// check limits the number of rounds. `here` and `copied` are those of [`registry::Registry::evaluate`].
    ///
    /// # Errors
    /// If too many costly expressions are waiting.
    pub(crate) async fn settled<T, W>(
        &self,
        review: &Review<'_>,
        here: impl Fn(&Allowance) -> T,
        copied: impl Fn() -> W,
    ) -> Result<T, Status>
    where
        T: Send + 'static,
        W: FnOnce(&Allowance) -> T + Send + 'static,
    {
        loop {
            let outcome = review.registry.evaluate(&here, &copied).await?;
            let open = std::mem::take(&mut *self.open.lock());
            if open.is_empty() {
                return Ok(outcome);
            }
            for question in open {
                let answer = answer(review, &question).await;
                self.known.lock().push((question, answer));
            }
        }
    }
}

async fn answer(review: &Review<'_>, question: &AuthorizerAttributes) -> AuthorizerDecision {
    match review.registry.authorize(&attributes(&review.request.user, question)).await {
        Ok(registry::Decision::Allow(reason)) => AuthorizerDecision { allowed: true, reason, error: None },
        Ok(registry::Decision::Deny(reason) | registry::Decision::NoOpinion(reason)) => {
            AuthorizerDecision { allowed: false, reason, error: None }
        }
        Err(status) => AuthorizerDecision { error: Some(status.message), ..AuthorizerDecision::default() },
    }
}

/// The attributes for the authorizer. Invalid selectors select everything, so they never allow more.
fn attributes(asker: &Arc<User>, question: &AuthorizerAttributes) -> Attributes {
    let user = match &question.service_account {
        Some((namespace, name)) => Arc::new(service_account(namespace, name)),
        None => Arc::clone(asker),
    };
    if let Some(path) = &question.path {
        return Attributes::new(&user, &question.verb, Target::Path(path.clone()));
    }
    let resource = GroupVersionResource::new(question.group.as_str(), "*", question.resource.as_str());
    let mut at = ResourcePath::new(resource).object(&question.namespace, &question.name);
    question.subresource.clone_into(&mut at.subresource);
    Attributes {
        field_selector: FieldSelector::parse(&question.field_selector).unwrap_or_default(),
        label_selector: LabelSelector::parse(&question.label_selector).unwrap_or_default(),
        ..Attributes::of_resource(&user, &question.verb, at)
    }
}

fn service_account(namespace: &str, name: &str) -> User {
    let groups =
        ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}"), AUTHENTICATED.to_owned()];
    User::new(format!("system:serviceaccount:{namespace}:{name}"), groups)
}

const AUTHENTICATED: &str = "system:authenticated";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_about_a_service_account_is_asked_as_one() {
        let asker = Arc::new(User::new("ann", ["devs"]));
        let mut question =
            AuthorizerAttributes { verb: "get".into(), resource: "pods".into(), ..AuthorizerAttributes::default() };
        assert_eq!(attributes(&asker, &question).user, asker);
        question.service_account = Some(("n".into(), "robot".into()));
        let user = attributes(&asker, &question).user;
        assert_eq!(user.name, "system:serviceaccount:n:robot");
        let groups = ["system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated"];
        assert_eq!(user.groups, groups);
        question.path = Some("/healthz".into());
        assert_eq!(attributes(&asker, &question).target, Target::Path("/healthz".into()));
    }

    #[test]
    fn an_undecided_check_is_recorded_and_allows_nothing() {
        let answers = Answers::default();
        let question = AuthorizerAttributes { verb: "get".into(), ..AuthorizerAttributes::default() };
        assert!(!answers.decide(&question).allowed);
        assert_eq!(answers.open.lock().len(), 1);
        answers
            .known
            .lock()
            .push((question.clone(), AuthorizerDecision { allowed: true, ..AuthorizerDecision::default() }));
        assert!(answers.decide(&question).allowed);
    }
}
