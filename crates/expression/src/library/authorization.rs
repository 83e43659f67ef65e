//! Authorizer checks. In Kubernetes: `library.Authz` and `library.AuthzSelectors`.

use std::sync::Arc;

use crate::authorizer::{Authorization, AuthorizerAttributes, AuthorizerDecision};
use crate::fault::Fault;
use crate::value::{Opaque, Value};

use super::function::Function;

type Result<'v> = std::result::Result<Value<'v>, Fault>;

pub(super) fn find(name: &str) -> Option<Function> {
    Some(match name {
        "path" => |arguments, _| match take(arguments)?.parts() {
            (Authorization::Authorizer(authorizer, question), [path]) => {
                Ok(of(Authorization::Path(authorizer, AuthorizerAttributes { path: Some(path.clone()), ..question })))
            }
            _ => Err(Fault::no_overload()),
        },
        "group" => |arguments, _| match take(arguments)?.parts() {
            (Authorization::Authorizer(authorizer, question), [group]) => {
                Ok(of(Authorization::Group(authorizer, AuthorizerAttributes { group: group.clone(), ..question })))
            }
            _ => Err(Fault::no_overload()),
        },
        "serviceAccount" => |arguments, _| match take(arguments)?.parts() {
            (Authorization::Authorizer(authorizer, question), [namespace, name]) => {
                let service_account = Some((namespace.clone(), name.clone()));
                Ok(of(Authorization::Authorizer(authorizer, AuthorizerAttributes { service_account, ..question })))
            }
            _ => Err(Fault::no_overload()),
        },
        "resource" => |arguments, _| match take(arguments)?.parts() {
            (Authorization::Group(authorizer, question), [resource]) => Ok(of(Authorization::Resource(
                authorizer,
                AuthorizerAttributes { resource: resource.clone(), ..question },
            ))),
            _ => Err(Fault::no_overload()),
        },
        "subresource" => |arguments, _| refine(arguments, |question, text| question.subresource = text),
        "namespace" => |arguments, _| refine(arguments, |question, text| question.namespace = text),
        "name" => |arguments, _| refine(arguments, |question, text| question.name = text),
        "fieldSelector" => |arguments, _| refine(arguments, |question, text| question.field_selector = text),
        "labelSelector" => |arguments, _| refine(arguments, |question, text| question.label_selector = text),
        "check" => check,
        "allowed" => |arguments, _| decision(arguments).map(|decision| Value::Bool(decision.allowed)),
        "reason" => |arguments, _| decision(arguments).map(|decision| Value::string(decision.reason)),
        "errored" => |arguments, _| decision(arguments).map(|decision| Value::Bool(decision.error.is_some())),
        "error" => |arguments, _| decision(arguments).map(|decision| Value::string(decision.error.unwrap_or_default())),
        _ => return None,
    })
}

fn of<'v>(authorization: Authorization) -> Value<'v> {
    Value::opaque(Opaque::Authorization(Arc::new(authorization)))
}

/// A call of a method: its receiver, and its string arguments, at most two.
struct MethodCall {
    receiver: Authorization,
    texts: Vec<String>,
}

impl MethodCall {
    fn parts(&self) -> (Authorization, &[String]) {
        (self.receiver.clone(), &self.texts)
    }
}

fn take(arguments: &[Value<'_>]) -> std::result::Result<MethodCall, Fault> {
    let [Value::Opaque(opaque), rest @ ..] = arguments else { return Err(Fault::no_overload()) };
    let Opaque::Authorization(authorization) = &**opaque else { return Err(Fault::no_overload()) };
    let texts = rest.iter().map(|value| match value {
        Value::String(text) => Ok(text.to_string()),
        _ => Err(Fault::no_overload()),
    });
    Ok(MethodCall { receiver: (**authorization).clone(), texts: texts.collect::<std::result::Result<_, _>>()? })
}

fn refine<'v>(arguments: &[Value<'v>], change: fn(&mut AuthorizerAttributes, String)) -> Result<'v> {
    match take(arguments)?.parts() {
        (Authorization::Resource(authorizer, mut question), [text]) => {
            change(&mut question, text.clone());
            Ok(of(Authorization::Resource(authorizer, question)))
        }
        _ => Err(Fault::no_overload()),
    }
}

fn check<'v>(arguments: &[Value<'v>], _: &mut crate::meter::Meter) -> Result<'v> {
    match take(arguments)?.parts() {
        (Authorization::Path(authorizer, question) | Authorization::Resource(authorizer, question), [verb]) => {
            let question = AuthorizerAttributes { verb: verb.clone(), ..question };
            Ok(of(Authorization::Decision(authorizer.decide(&question))))
        }
        _ => Err(Fault::no_overload()),
    }
}

fn decision(arguments: &[Value<'_>]) -> std::result::Result<AuthorizerDecision, Fault> {
    match take(arguments)?.receiver {
        Authorization::Decision(decision) => Ok(decision),
        _ => Err(Fault::no_overload()),
    }
}
