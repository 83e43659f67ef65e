//! Errors in the protocol: etcd's codes and texts, from which its clients construct their own errors.

use coracle_store::Error;
use tonic::{Code, Status};

/// The status for a client.
pub(crate) fn to_status(error: &Error) -> Status {
    let code = match error {
        Error::Compacted { .. } | Error::FutureRevision { .. } | Error::LeaseTtlTooLarge => Code::OutOfRange,
        Error::Invalid(_) | Error::TooLarge => Code::InvalidArgument,
        Error::LeaseNotFound => Code::NotFound,
        Error::LeaseExists => Code::FailedPrecondition,
        Error::NoSpace(_) => Code::ResourceExhausted,
        Error::Unsupported(_) => Code::Unimplemented,
        Error::Unavailable(_) => Code::Unavailable,
        Error::Corrupt(_) => Code::DataLoss,
    };
    match error {
        // etcd's clients recognize this error by its text.
        Error::NoSpace(_) => Status::new(code, Error::NoSpace(None).to_string()),
        _ => Status::new(code, error.to_string()),
    }
}

/// The errors of a store for a rejected request, recognized by their texts.
const REFUSALS: [&str; 8] = [
    "etcdserver: key is not provided",
    "etcdserver: key not found",
    "etcdserver: value is provided",
    "etcdserver: lease is provided",
    "etcdserver: too many operations in txn request",
    "etcdserver: duplicate key given in txn request",
    "etcdserver: invalid sort option",
    "etcdserver: authentication is not enabled",
];

/// How gRPC servers of etcd, and of this crate, reject a message before it is handled.
const TOO_LARGE: [&str; 2] = ["grpc: received message larger than max", "Error, decoded message length too large"];

/// The error of an etcd's status. An etcd does not report the compacted or the newest revision: those are 0.
pub(crate) fn from_status(status: &Status) -> Error {
    let text = status.message();
    let known = [
        Error::Compacted { compacted: 0 },
        Error::FutureRevision { current: 0 },
        Error::TooLarge,
        Error::LeaseNotFound,
        Error::LeaseExists,
        Error::LeaseTtlTooLarge,
        Error::NoSpace(None),
    ];
    if let Some(error) = known.into_iter().find(|error| error.to_string() == text) {
        return error;
    }
    if let Some(text) = REFUSALS.into_iter().find(|refusal| *refusal == text) {
        return Error::Invalid(text);
    }
    if TOO_LARGE.iter().any(|beginning| text.starts_with(beginning)) {
        return Error::TooLarge;
    }
    match status.code() {
        Code::DataLoss => Error::Corrupt(text.to_owned()),
        Code::Unimplemented => Error::Unsupported("the etcd server does not do this"),
        code => Error::Unavailable(format!("{code:?}: {}", explain(status))),
    }
}

/// Whether no server answered, or the connection broke during the request: another attempt may succeed. A status that
/// the server itself sent has no source.
pub(crate) fn is_lost(status: &Status) -> bool {
    status.code() == Code::Unavailable || std::error::Error::source(status).is_some()
}

/// Whether the request never left this process, because no server was reachable.
pub(crate) fn was_never_sent(status: &Status) -> bool {
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        if error.is::<tonic::ConnectError>() {
            return true;
        }
        source = error.source();
    }
    false
}

/// An error with its causes, without repeated texts.
pub(crate) fn explain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = match error.downcast_ref::<Status>() {
        Some(status) => status.message().to_owned(),
        None => error.to_string(),
    };
    let mut source = error.source();
    while let Some(error) = source {
        let words = error.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_crosses_the_wire_and_stays_what_it_was() {
        let errors = [
            Error::Compacted { compacted: 0 },
            Error::FutureRevision { current: 0 },
            Error::TooLarge,
            Error::LeaseNotFound,
            Error::LeaseExists,
            Error::LeaseTtlTooLarge,
            Error::NoSpace(None),
            Error::Corrupt("record 7".to_owned()),
        ];
        let refusals = REFUSALS.map(Error::Invalid);
        for error in errors.iter().chain(&refusals) {
            assert_eq!(from_status(&to_status(error)), *error);
        }
    }
}
