use coracle_meta::{FieldError, FieldSelector, GroupVersionKind, LabelSelector, Status};
use coracle_registry::{
    DeleteOptions, FieldValidation, GetOptions, ListOptions, Preconditions, Propagation, WriteParameters,
};
use serde_json::Value;

use crate::query::Query;

/// The maximum length of a field manager's name, in bytes.
const FIELD_MANAGER_LIMIT: usize = 128;

/// The common query options of all writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WriteOptions {
    /// Whether it is a dry run.
    pub(crate) dry_run: bool,
    /// The field manager and field validation of the client; without a manager, the user agent is the manager.
    pub(crate) said: WriteParameters,
    /// How unknown fields are handled.
    pub(crate) field_validation: FieldValidation,
    /// Whether an apply takes fields from other managers; `None` if the query does not set it.
    pub(crate) force: Option<bool>,
}

/// The verb of the options, which gives them their name in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteKind {
    /// `CreateOptions`
    Create,
    /// `UpdateOptions`
    Update,
    /// `PatchOptions` of any patch except an apply.
    Patch,
    /// `PatchOptions` of an apply.
    Apply,
}

impl WriteKind {
    fn kind(self) -> &'static str {
        match self {
            Self::Create => "CreateOptions",
            Self::Update => "UpdateOptions",
            Self::Patch | Self::Apply => "PatchOptions",
        }
    }
}

/// Reads the query of a create, an update or a patch. In Kubernetes: `metav1.CreateOptions` and its siblings with their
/// validation.
pub(crate) fn write_options(kind: WriteKind, query: &Query) -> Result<WriteOptions, Status> {
    let field_manager = query.text("fieldManager").to_owned();
    let force = query.flag("force");
    let mut errors = Vec::new();
    match kind {
        WriteKind::Apply if field_manager.is_empty() => {
            errors.push(FieldError::required("fieldManager", "is required for apply patch"));
        }
        WriteKind::Patch if force.is_some() => {
            errors.push(FieldError::forbidden("force", "may not be specified for non-apply patch"));
        }
        _ => {}
    }
    errors.extend(check_field_manager(&field_manager));
    let dry_run = read_dry_run(query.all("dryRun"), &mut errors);
    let field_validation = match query.text("fieldValidation") {
        "" | "Warn" => FieldValidation::Warn,
        "Ignore" => FieldValidation::Ignore,
        "Strict" => FieldValidation::Strict,
        other => {
            errors.push(FieldError::not_supported("fieldValidation", other, &["", "Ignore", "Strict", "Warn"]));
            FieldValidation::Warn
        }
    };
    refuse(kind.kind(), &errors)?;
    let said = WriteParameters { field_manager, field_validation: query.text("fieldValidation").to_owned() };
    Ok(WriteOptions { dry_run, said, field_validation, force })
}

fn check_field_manager(manager: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > FIELD_MANAGER_LIMIT {
        errors.push(FieldError::too_long("fieldManager", FIELD_MANAGER_LIMIT));
    }
    for (at, sign) in manager.char_indices().filter(|(_, sign)| sign.is_control()) {
        let detail = format!("invalid character U+{:04X} (at position {at})", sign as u32);
        errors.push(FieldError::invalid("fieldManager", manager, detail));
    }
    errors
}

fn read_dry_run<'a>(values: impl Iterator<Item = &'a str>, errors: &mut Vec<FieldError>) -> bool {
    let values: Vec<&str> = values.collect();
    if values.iter().any(|value| *value != "All") {
        errors.push(FieldError::not_supported("dryRun", Value::from(values.clone()), &["All"]));
    }
    !values.is_empty()
}

/// Reads the query of a get.
pub(crate) fn get_options(query: &Query) -> GetOptions {
    GetOptions { resource_version: query.text("resourceVersion").to_owned() }
}

/// Reads and checks the query of a list, a watch or a deletion of a collection.
///
/// In Kubernetes: `metainternalversion.ListOptions`, with the rule that a watch without a version first sends the
/// existing objects.
pub(crate) fn list_options(query: &Query, watch: bool) -> Result<ListOptions, Status> {
    let labels = query.get("labelSelector").map(LabelSelector::parse).transpose();
    let labels = labels.map_err(|error| Status::bad_request(error.to_string()))?;
    let fields = query.get("fieldSelector").map(FieldSelector::parse).transpose();
    let fields = fields.map_err(|error| Status::bad_request(error.to_string()))?;
    let timeout = query.number("timeoutSeconds")?;
    let options = ListOptions {
        label_selector: labels.unwrap_or_default(),
        field_selector: fields.unwrap_or_default(),
        resource_version: query.text("resourceVersion").to_owned(),
        resource_version_match: query.text("resourceVersionMatch").to_owned(),
        limit: query.number("limit")?.unwrap_or(0),
        continue_token: query.text("continue").to_owned(),
        allow_watch_bookmarks: query.flag("allowWatchBookmarks").unwrap_or(false),
        send_initial_events: query.flag("sendInitialEvents"),
        timeout_seconds: timeout.and_then(|seconds| u64::try_from(seconds).ok()).filter(|seconds| *seconds > 0),
    };
    let errors = if watch { check_watch(&options) } else { check_list(&options) };
    refuse("ListOptions", &errors)?;
    Ok(options)
}

const MATCH: &str = "resourceVersionMatch";

fn check_list(options: &ListOptions) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let wanted = options.resource_version_match.as_str();
    if !wanted.is_empty() {
        if options.resource_version.is_empty() {
            let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            errors.push(FieldError::forbidden(MATCH, detail));
        }
        if !options.continue_token.is_empty() {
            errors.push(FieldError::forbidden(MATCH, "resourceVersionMatch is forbidden when continue is provided"));
        }
        if !matches!(wanted, "Exact" | "NotOlderThan") {
            errors.push(FieldError::not_supported(MATCH, wanted, &["Exact", "NotOlderThan", ""]));
        }
        if wanted == "Exact" && options.resource_version == "0" {
            let detail = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            errors.push(FieldError::forbidden(MATCH, detail));
        }
    }
    if options.send_initial_events.is_some() {
        errors.push(FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    errors
}

fn check_watch(options: &ListOptions) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let wanted = options.resource_version_match.as_str();
    if options.send_initial_events.is_some() && wanted != "NotOlderThan" {
        let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        errors.push(FieldError::forbidden(MATCH, detail));
    }
    if !wanted.is_empty() {
        if options.send_initial_events.is_none() {
            let detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            errors.push(FieldError::forbidden(MATCH, detail));
        }
        if wanted != "NotOlderThan" {
            errors.push(FieldError::not_supported(MATCH, wanted, &["NotOlderThan"]));
        }
        if !options.continue_token.is_empty() {
            errors.push(FieldError::forbidden(MATCH, "resourceVersionMatch is forbidden when continue is provided"));
        }
    }
    errors
}

/// A delete: its options, and whether it is a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeleteRequest {
    /// The options.
    pub(crate) options: DeleteOptions,
    /// Whether it is a dry run.
    pub(crate) dry_run: bool,
}

/// Reads the options of a delete from its body, or from its query if the body is empty (`None`).
pub(crate) fn delete_options(query: &Query, body: Option<&Value>) -> Result<DeleteRequest, Status> {
    let mut errors = Vec::new();
    let (grace, propagation, orphan, preconditions, dry_run) = match body {
        Some(body) => {
            let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
            let dry_run = body.get("dryRun").and_then(Value::as_array).into_iter().flatten();
            let preconditions = Preconditions {
                uid: text(body.pointer("/preconditions/uid")),
                resource_version: text(body.pointer("/preconditions/resourceVersion")),
            };
            (
                body.get("gracePeriodSeconds").and_then(Value::as_i64),
                text(body.get("propagationPolicy")),
                body.get("orphanDependents").and_then(Value::as_bool),
                preconditions,
                read_dry_run(dry_run.filter_map(Value::as_str), &mut errors),
            )
        }
        None => (
            query.number("gracePeriodSeconds")?,
            query.get("propagationPolicy").map(str::to_owned),
            query.flag("orphanDependents"),
            Preconditions::default(),
            read_dry_run(query.all("dryRun"), &mut errors),
        ),
    };
    let propagation = read_propagation(propagation.as_deref(), orphan, &mut errors);
    refuse("DeleteOptions", &errors)?;
    let options = DeleteOptions {
        grace_period_seconds: grace,
        preconditions,
        propagation,
        orphan_dependents: orphan,
        ignore_store_read_error: false,
    };
    Ok(DeleteRequest { options, dry_run })
}

fn read_propagation(policy: Option<&str>, orphan: Option<bool>, errors: &mut Vec<FieldError>) -> Option<Propagation> {
    let policy = policy?;
    if orphan.is_some() {
        let detail = "orphanDependents and deletionPropagation cannot be both set";
        errors.push(FieldError::invalid("propagationPolicy", policy, detail));
    }
    match policy {
        "Foreground" => Some(Propagation::Foreground),
        "Background" => Some(Propagation::Background),
        "Orphan" => Some(Propagation::Orphan),
        other => {
            let known = ["Foreground", "Background", "Orphan", "nil"];
            errors.push(FieldError::not_supported("propagationPolicy", other, &known));
            None
        }
    }
}

fn refuse(kind: &str, errors: &[FieldError]) -> Result<(), Status> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(&GroupVersionKind::new("meta.k8s.io", "v1", kind), "", errors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn contradictory_options_are_refused_in_kubernetes_words() {
        for (query, watch, message) in [
            (
                "resourceVersionMatch=Exact",
                false,
                "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
            ),
            (
                "resourceVersionMatch=Nope&resourceVersion=1",
                false,
                "resourceVersionMatch: Unsupported value: \"Nope\": supported values: \"Exact\", \"NotOlderThan\", \"\"",
            ),
            ("sendInitialEvents=true", false, "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"),
            (
                "sendInitialEvents=true",
                true,
                "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            ),
        ] {
            let status = list_options(&Query::parse(query), watch).unwrap_err();
            assert_eq!(status.message, format!("ListOptions.meta.k8s.io \"\" is invalid: {message}"));
            assert_eq!(status.code, 422);
        }
    }

    #[test]
    fn an_apply_needs_a_manager_and_only_an_apply_may_force() {
        let none = Query::default();
        let status = write_options(WriteKind::Apply, &none).unwrap_err();
        assert!(status.message.ends_with("fieldManager: Required value: is required for apply patch"), "{status}");
        let force = Query::parse("force=true");
        assert!(write_options(WriteKind::Patch, &force).is_err());
        assert_eq!(write_options(WriteKind::Create, &none).unwrap(), WriteOptions::default());
        let status = write_options(WriteKind::Create, &Query::parse("dryRun=Some")).unwrap_err();
        assert!(status.message.ends_with("dryRun: Unsupported value: [\"Some\"]: supported values: \"All\""));
    }

    #[test]
    fn a_body_of_a_delete_wins_over_its_query() {
        let query = Query::parse("gracePeriodSeconds=7&dryRun=All");
        assert_eq!(delete_options(&query, None).unwrap().options.grace_period_seconds, Some(7));
        let body = json!({"propagationPolicy": "Orphan", "preconditions": {"uid": "u"}});
        let read = delete_options(&query, Some(&body)).unwrap();
        assert_eq!(read.options.propagation, Some(Propagation::Orphan));
        assert_eq!(read.options.grace_period_seconds, None);
        assert_eq!(read.options.preconditions.uid.as_deref(), Some("u"));
        assert!(!read.dry_run);
        let both = json!({"propagationPolicy": "Orphan", "orphanDependents": true});
        assert_eq!(delete_options(&query, Some(&both)).unwrap_err().code, 422);
    }

    proptest! {
        #[test]
        fn no_query_panics_or_is_the_servers_fault(text in "((limit|dryRun|labelSelector|fieldSelector|timeoutSeconds|watch)=[ -~]{0,10}&){0,5}") {
            let query = Query::parse(&text);
            for watch in [true, false] {
                if let Err(status) = list_options(&query, watch) {
                    prop_assert!(status.code < 500);
                }
            }
            if let Err(status) = write_options(WriteKind::Patch, &query) {
                prop_assert!(status.code < 500);
            }
        }
    }
}
