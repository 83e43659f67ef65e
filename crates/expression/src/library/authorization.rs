//! Authorizer checks. In Kubernetes: `library.Authz` and `library.AuthzSelectors`.

use std::sync::Arc;

use crate::authorizer::{Authorization, Decision, Question};
use crate::fault::Fault;
use crate::value::{Opaque, Value};

use super::function::Function;

type Result<'v> = std::result::Result<Value<'v>, Fault>;

pub(super) fn find(name: &str) -> Option<Function> {
    Some(match name {
        "path" => |arguments, _| match split(&take(arguments)?) {
            (Authorization::Authorizer(authorizer, question), [path]) => {
                Ok(of(Authorization::Path(authorizer, Question { path: Some(path.clone()), ..question })))
            }
            _ => Err(Fault::no_overload()),
        },
        "group" => |arguments, _| match split(&take(arguments)?) {
            (Authorization::Authorizer(authorizer, question), [group]) => {
                Ok(of(Authorization::Group(authorizer, Question { group: group.clone(), ..question })))
            }
            _ => Err(Fault::no_overload()),
        },
        "serviceAccount" => |arguments, _| match split(&take(arguments)?) {
            (Authorization::Authorizer(authorizer, question), [namespace, name]) => {
                let service_account = Some((namespace.clone(), name.clone()));
                Ok(of(Authorization::Authorizer(authorizer, Question { service_account, ..question })))
            }
            _ => Err(Fault::no_overload()),
        },
        "resource" => |arguments, _| match split(&take(arguments)?) {
            (Authorization::Group(authorizer, question), [resource]) => {
                Ok(of(Authorization::Resource(authorizer, Question { resource: resource.clone(), ..question })))
            }
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

/// The receiver of a method, and its string arguments, at most two.
fn take(arguments: &[Value<'_>]) -> std::result::Result<(Authorization, Texts), Fault> {
    let [Value::Opaque(opaque), rest @ ..] = arguments else { return Err(Fault::no_overload()) };
    let Opaque::Authorization(authorization) = &**opaque else { return Err(Fault::no_overload()) };
    let texts = rest.iter().map(|value| match value {
        Value::String(text) => Ok(text.to_string()),
        _ => Err(Fault::no_overload()),
    });
    Ok(((**authorization).clone(), texts.collect::<std::result::Result<_, _>>()?))
}

type Texts = Vec<String>;

fn split(taken: &(Authorization, Texts)) -> (Authorization, &[String]) {
    (taken.0.clone(), &taken.1)
}

fn refine<'v>(arguments: &[Value<'v>], change: fn(&mut Question, String)) -> Result<'v> {
    match take(arguments)? {
        (Authorization::Resource(authorizer, mut question), mut texts) if texts.len() == 1 => {
            change(&mut question, texts.remove(0));
            Ok(of(Authorization::Resource(authorizer, question)))
        }
        _ => Err(Fault::no_overload()),
    }
}

fn check<'v>(arguments: &[Value<'v>], _: &mut crate::meter::Meter) -> Result<'v> {
    match take(arguments)? {
        (Authorization::Path(authorizer, question) | Authorization::Resource(authorizer, question), mut texts)
            if texts.len() == 1 =>
        {
            let question = Question { verb: texts.remove(0), ..question };
            Ok(of(Authorization::Decision(authorizer.decide(&question))))
        }
        _ => Err(Fault::no_overload()),
    }
}

fn decision(arguments: &[Value<'_>]) -> std::result::Result<Decision, Fault> {
    match take(arguments)? {
        (Authorization::Decision(decision), _) => Ok(decision),
        _ => Err(Fault::no_overload()),
    }
}
