//! Why a command ended early, and how kubectl prints it.

use std::collections::BTreeSet;

use coracle_client::Error;
use coracle_meta::{Status, go_quote, reason};

/// Why a command ended early.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The server refused a request.
    Api(Box<Status>),
    /// An error of the command itself.
    Text(String),
    /// A text that is printed as it is.
    Verbatim(String),
    /// Errors of several objects.
    Several(Vec<Failure>),
    /// A command whose output says what failed.
    Code(i32),
    /// A program in a container that failed.
    Program { code: i32, text: String },
}

impl Failure {
    pub(crate) fn text(why: impl Into<String>) -> Self {
        Self::Text(why.into())
    }

    /// An error that ends with where the help is.
    pub(crate) fn usage(why: &str, command: &str) -> Self {
        Self::Text(format!("{why}\nSee 'kubectl {command} -h' for help and examples"))
    }

    /// The errors of several objects: nothing without one, and one as itself.
    pub(crate) fn aggregate(mut failures: Vec<Self>) -> Result<(), Self> {
        match failures.len() {
            0 => Ok(()),
            1 => Err(failures.remove(0)),
            _ => Err(Self::Several(failures)),
        }
    }

    pub(crate) fn status(&self) -> Option<&Status> {
        match self {
            Self::Api(status) => Some(status),
            _ => None,
        }
    }

    pub(crate) fn is_not_found(&self) -> bool {
        self.status().is_some_and(Status::is_not_found)
    }

    pub(crate) fn is_conflict(&self) -> bool {
        self.status().is_some_and(Status::is_conflict)
    }

    /// The error without the prefix of its kind, as it stands in other messages.
    pub(crate) fn bare(&self) -> String {
        match self {
            Self::Api(status) => status.message.clone(),
            Self::Text(text) | Self::Verbatim(text) | Self::Program { text, .. } => text.clone(),
            Self::Several(all) if all.len() == 1 => all[0].bare(),
            Self::Several(all) => {
                let all: Vec<String> = all.iter().map(Self::bare).collect();
                format!("[{}]", all.join(", "))
            }
            Self::Code(code) => format!("exit status {code}"),
        }
    }

    /// The same error, which says what was done to which file. In Kubernetes: `cmdutil.AddSourceToErr`.
    pub(crate) fn while_doing(self, verb: &str, source: &str) -> Self {
        if source.is_empty() {
            return self;
        }
        let message = format!("error when {verb} {}: {}", go_quote(source), self.bare());
        match self {
            Self::Api(mut status) => {
                status.message = message;
                Self::Api(status)
            }
            _ => Self::Text(message),
        }
    }

    /// The exit code.
    pub(crate) fn code(&self) -> i32 {
        match self {
            Self::Code(code) | Self::Program { code, .. } => *code,
            _ => 1,
        }
    }

    /// What kubectl prints. In Kubernetes: `cmdutil.checkErr`.
    pub(crate) fn message(&self) -> String {
        let mut text = match self {
            Self::Code(_) => return String::new(),
            Self::Verbatim(text) | Self::Program { text, .. } => text.clone(),
            Self::Text(text) if text.starts_with("error: ") => text.clone(),
            Self::Text(text) => format!("error: {text}"),
            Self::Api(status) if status.reason == reason::INVALID => invalid(status),
            Self::Api(status) => of_server(status),
            Self::Several(all) => all.iter().map(|one| one.in_list() + "\n").collect(),
        };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }

    /// The message among others. In Kubernetes: `messageForError`.
    fn in_list(&self) -> String {
        match self {
            Self::Api(status) => of_server(status),
            _ => self.bare(),
        }
    }
}

fn of_server(status: &Status) -> String {
    match status.reason.as_str() {
        reason::UNAUTHORIZED => format!("error: You must be logged in to the server ({})", status.message),
        "" => format!("Error from server: {}", status.message),
        why => format!("Error from server ({why}): {}", status.message),
    }
}

fn invalid(status: &Status) -> String {
    let Some(details) = &status.details else {
        let message = &status.message;
        return if message.is_empty() {
            "The request is invalid".to_owned()
        } else {
            format!("The request is invalid: {message}")
        };
    };
    let mut text = "The request is invalid".to_owned();
    if !details.kind.is_empty() || !details.name.is_empty() {
        text = format!("The {} {} is invalid", details.kind, go_quote(&details.name));
    } else if !status.message.is_empty() && details.causes.is_empty() {
        text = format!("{text}: {}", status.message);
    }
    let mut seen = BTreeSet::new();
    let causes = details.causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message));
    let causes: Vec<String> = causes.filter(|cause| seen.insert(cause.clone())).collect();
    match causes.as_slice() {
        [] => text,
        [one] => format!("{text}: {one}"),
        several => {
            let lines: String = several.iter().map(|cause| format!("* {cause}\n")).collect();
            format!("{text}: \n{lines}")
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Api(status) => Self::Api(status),
            other => {
                let mut text = other.to_string();
                let mut source = std::error::Error::source(&other);
                while let Some(cause) = source {
                    text = format!("{text}: {cause}");
                    source = cause.source();
                }
                Self::Text(text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_printed_as_kubectl_prints_them() {
        let missing = Status::failure(404, reason::NOT_FOUND, "pods \"a\" not found");
        let missing = Failure::Api(Box::new(missing));
        assert_eq!(missing.message(), "Error from server (NotFound): pods \"a\" not found\n");
        let located = missing.clone().while_doing("creating", "pod.yaml").message();
        assert_eq!(located, "Error from server (NotFound): error when creating \"pod.yaml\": pods \"a\" not found\n");
        assert_eq!(Failure::text("no").message(), "error: no\n");
        let both = Failure::Several(vec![missing, Failure::text("no")]);
        assert_eq!(both.message(), "Error from server (NotFound): pods \"a\" not found\nno\n");
        let invalid = Status::failure(422, reason::INVALID, "m").with_cause("", "bad", "spec.a");
        let invalid = invalid.with_cause("", "worse", "spec.b");
        assert_eq!(
            Failure::Api(Box::new(invalid)).message(),
            "The request is invalid: \n* spec.a: bad\n* spec.b: worse\n"
        );
    }
}
