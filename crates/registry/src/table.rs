//! The tables that `kubectl get` prints: columns with their cells.

use std::borrow::Cow;

use coracle_ambient::Timestamp;
use coracle_meta::{Object, human_duration, parse_time};
use serde_json::Value;

/// A column of a kind's table. In Kubernetes: `metav1.TableColumnDefinition`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: Cow<'static, str>,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: Cow<'static, str>,
    /// `name` for the name; mostly empty otherwise.
    pub format: Cow<'static, str>,
    /// The description.
    pub description: Cow<'static, str>,
    /// 0 for always, 1 for only wide output.
    pub priority: i32,
}

impl Column {
    /// A column that is always shown.
    pub const fn new(name: &'static str, kind: &'static str, description: &'static str) -> Self {
        Self {
            name: Cow::Borrowed(name),
            kind: Cow::Borrowed(kind),
            format: Cow::Borrowed(""),
            description: Cow::Borrowed(description),
            priority: 0,
        }
    }

    /// The column of the name.
    pub fn name() -> Self {
        Self::new("Name", "string", NAME_DESCRIPTION).of_names()
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

    /// This column, marked as one of names.
    #[must_use]
    pub fn of_names(self) -> Self {
        Self { format: "name".into(), ..self }
    }
}

/// The documentation of `metadata.name`.
const NAME_DESCRIPTION: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

/// The documentation of `metadata.creationTimestamp`.
const CREATED_DESCRIPTION: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// The cell of an object at a time.
pub type Cell = Box<dyn Fn(&Object, Timestamp) -> Value + Send + Sync>;

/// A column of a kind's table, with its cells.
pub struct TableColumn {
    /// The heading; a cell without one is after the last heading (Kubernetes has one such cell, for IPAddresses).
    pub heading: Option<Column>,
    /// Its cell.
    pub cell: Cell,
}

impl TableColumn {
    /// A column and its cell.
    pub fn new(heading: Column, cell: impl Fn(&Object, Timestamp) -> Value + Send + Sync + 'static) -> Self {
        Self { heading: Some(heading), cell: Box::new(cell) }
    }

    /// The name.
    pub fn name() -> Self {
        Self::new(Column::name(), |object, _| object.name().into())
    }

    /// The age.
    pub fn age() -> Self {
        Self::new(Column::age(), |object, now| age(object, now).into())
    }

    /// A text.
    pub fn text(
        name: &'static str,
        description: &'static str,
        cell: impl Fn(&Object) -> Value + Send + Sync + 'static,
    ) -> Self {
        Self::new(Column::new(name, "string", description), move |object, _| cell(object))
    }

    /// An integer.
    pub fn integer(
        name: &'static str,
        description: &'static str,
        cell: impl Fn(&Object) -> Value + Send + Sync + 'static,
    ) -> Self {
        Self::new(Column::new(name, "integer", description), move |object, _| cell(object))
    }

    /// A boolean.
    pub fn boolean(
        name: &'static str,
        description: &'static str,
        cell: impl Fn(&Object) -> Value + Send + Sync + 'static,
    ) -> Self {
        Self::new(Column::new(name, "boolean", description), move |object, _| cell(object))
    }

    /// This column, for wide output only.
    #[must_use]
    pub fn wide(self) -> Self {
        Self { heading: self.heading.map(Column::wide), ..self }
    }

    /// This column, marked as one of names.
    #[must_use]
    pub fn of_names(self) -> Self {
        Self { heading: self.heading.map(Column::of_names), ..self }
    }
}

/// Name and creation time: the default table.
pub fn default_columns() -> Vec<TableColumn> {
    let created = |object: &Object, _: Timestamp| object.text("metadata.creationTimestamp").into();
    vec![TableColumn::name(), TableColumn::new(Column::new("Created At", "date", CREATED_DESCRIPTION), created)]
}

/// The age of an object.
pub fn age(object: &Object, now: Timestamp) -> String {
    since(object.text("metadata.creationTimestamp"), now)
}

/// The duration since a time in tables: `5m`, `3d4h`; `<unknown>` without a time.
pub fn since(time: &str, now: Timestamp) -> String {
    match parse_time(time) {
        Some(time) => human_duration(now.duration_since(time).as_secs()),
        None => "<unknown>".to_owned(),
    }
}
