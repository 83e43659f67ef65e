//! The tables that `kubectl get` prints: columns, and cells for kinds that have none of their own.

use coracle_ambient::Timestamp;
use coracle_meta::{Object, parse_time};
use serde_json::Value;

/// A column of a kind's table. In Kubernetes: `metav1.TableColumnDefinition`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    /// `name` for the name; else mostly empty.
    pub format: String,
    /// What the column says.
    pub description: String,
    /// 0 to be always shown, 1 for wide output only.
    pub priority: i32,
}

impl Column {
    /// A column that is always shown.
    pub fn new(name: &str, kind: &str, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: kind.to_owned(),
            format: String::new(),
            description: description.to_owned(),
            priority: 0,
        }
    }

    /// The column of the name.
    pub fn name() -> Self {
        Self { format: "name".to_owned(), ..Self::new("Name", "string", NAME_DESCRIPTION) }
    }

    /// The column of the age.
    pub fn age() -> Self {
        Self::new("Age", "string", CREATED_DESCRIPTION)
    }

    /// This column, for wide output only.
    #[must_use]
    pub fn wide(self) -> Self {
        Self { priority: 1, ..self }
    }
}

/// What the API documents of `metadata.name`.
const NAME_DESCRIPTION: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

/// What the API documents of `metadata.creationTimestamp`.
const CREATED_DESCRIPTION: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// Name and creation time: the table of a kind that has none of its own.
pub fn default_columns() -> Vec<Column> {
    vec![Column::name(), Column::new("Created At", "date", CREATED_DESCRIPTION)]
}

/// The cells of [`default_columns`].
pub fn default_cells(object: &Object, _now: Timestamp) -> Vec<Value> {
    vec![object.name().into(), object.text(&["metadata", "creationTimestamp"]).into()]
}

/// An age as tables print it: `5m`, `3d4h`; `<unknown>` without a time.
pub fn age(time: &str, now: Timestamp) -> String {
    match parse_time(time) {
        Some(time) => coracle_meta::human_duration(now.duration_since(time).as_secs()),
        None => "<unknown>".to_owned(),
    }
}
