use std::cmp::Reverse;
use std::sync::Arc;

use bytes::Bytes;
use coracle_ambient::Timestamp;
use coracle_handover::Handed;
use coracle_meta::{AnyObject, GroupVersionKind, Object, ObjectType, Status, WatchEventType, reason};
use coracle_registry::{Column, Kind, MemoryForm, Projection, Request, Stored, StoredList, Subresource};
use coracle_schema::protobuf as schema_protobuf;
use serde_json::{Map, Value, json};

use crate::answer::frame;
use crate::answer::negotiate::{Format, MetaVersion, Negotiated, Transform};
use crate::answer::protobuf;
use crate::answer::renderings::{self, Renderings};
use crate::answer::respond;
use crate::query::Query;

/// How objects of one kind are rendered for one client: the format, and the representation as objects, metadata or rows
/// of a table.
#[derive(Clone)]
pub(crate) struct Rendering {
    kind: Arc<Kind>,
    /// The kind of the objects, which for a subresource may differ from the parent's.
    how: Negotiated,
    renderings: Arc<Renderings>,
    include: IncludeObject,
    now: Timestamp,
    /// The projection that is shown instead of the object; it has its own table.
    projection: Option<Arc<dyn Projection>>,
    /// The name of the object that the table of a list marks as the default of its kind.
    marked: Option<String>,
    /// Whether the next table must contain the column definitions; in a watch only the first event does.
    columns_due: bool,
}

/// What a row contains of its object. In Kubernetes: `metav1.IncludeObjectPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IncludeObject {
    Metadata,
    Object,
    None,
}

impl Rendering {
    /// The rendering of objects of `kind`, or of parts of them, as negotiated in `how`; reads the table options of the
    /// query.
    pub(crate) fn new(
        kind: &Arc<Kind>,
        request: &Request,
        how: Negotiated,
        query: &Query,
        renderings: &Arc<Renderings>,
    ) -> Result<Self, Status> {
        let include = match query.text("includeObject") {
            _ if !matches!(how.transform, Transform::Table(_)) => IncludeObject::Metadata,
            "" | "Metadata" => IncludeObject::Metadata,
            "Object" => IncludeObject::Object,
            "None" => IncludeObject::None,
            other => {
                return Err(Status::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be 'Metadata', 'Object', 'None', or empty",
                    coracle_meta::go_quote(other)
                )));
            }
        };
        let (kind, renderings) = (Arc::clone(kind), Arc::clone(renderings));
        let projection = match kind.subresource(&request.at.subresource) {
            Some(Subresource::Projection(projection)) => Some(Arc::clone(projection)),
            _ => None,
        };
        let now = request.now;
        Ok(Self { kind, how, renderings, include, now, projection, marked: None, columns_due: true })
    }

    /// The rendering of a list of these objects, whose table may mark one of them.
    pub(crate) fn of_list(mut self, items: &[Stored]) -> Self {
        if self.shows_rows()
            && let Some(is_default) = self.kind.spec().default_in_list
        {
            let defaults = items.iter().map(Stored::object).filter(|object| is_default(object));
            // Of equal age, the first by name.
            let by_age = defaults.map(|object| {
                (Reverse(object.text("metadata.creationTimestamp").to_owned()), object.name().to_owned())
            });
            self.marked = by_age.min().map(|(_, name)| name);
        }
        self
    }

    /// The result of content negotiation.
    pub(crate) fn how(&self) -> Negotiated {
        self.how
    }

    /// Whether the items of a list are the objects, and not parts of them.
    pub(crate) fn copies_objects(&self) -> bool {
        self.how.transform == Transform::None
    }

    /// Whether the items of a list are rows of a table.
    pub(crate) fn shows_rows(&self) -> bool {
        matches!(self.how.transform, Transform::Table(_))
    }

    /// Whether the messages of a list's items are cached; the list's objects have this number of bytes.
    pub(crate) fn keeps_messages(&self, bytes: usize) -> bool {
        self.how.transform == Transform::None && self.renderings.make_room(bytes)
    }

    /// One item of a list in protobuf, without an envelope.
    pub(crate) fn message(&self, object: &Stored, is_kept: bool) -> Bytes {
        match self.how.transform {
            Transform::None | Transform::Table(_) if is_kept => self.renderings.message(&self.kind, object),
            Transform::None | Transform::Table(_) => renderings::message(&self.kind, object).into(),
            Transform::PartialObjectMetadata(version) | Transform::PartialObjectMetadataList(version) => {
                protobuf::metadata(&self.metadata_json(object, version)).into()
            }
        }
    }

    /// The length of this message.
    pub(crate) fn message_length(&self, object: &Stored, is_kept: bool) -> usize {
        let measure = || self.message(object, is_kept).len();
        if self.how.transform == Transform::None { object.message_length(measure) } else { measure() }
    }

    /// Whether items are copied from rendered JSON.
    pub(crate) fn is_plain_json(&self) -> bool {
        self.how.format == Format::Json && !self.how.pretty
    }

    /// One object as a complete body.
    pub(crate) fn object(&self, object: &Stored) -> Result<Vec<u8>, Status> {
        if self.is_plain_json() && self.how.transform == Transform::None {
            let mut out = Vec::with_capacity(object.len() + 1);
            object.write_json(&mut out);
            out.push(b'\n');
            return Ok(out);
        }
        if let Transform::PartialObjectMetadata(version) = self.how.transform
            && self.is_plain_json()
            && !object.is_status()
        {
            let mut out = self.metadata_json(object, version);
            out.push(b'\n');
            return Ok(out);
        }
        if self.how.format == Format::Protobuf && self.how.transform == Transform::None && self.is_own(object) {
            return Ok(schema_protobuf::seal(self.kind.gvk(), &self.renderings.message(&self.kind, object)));
        }
        let parsed = object.object();
        let value = match self.how.transform {
            _ if parsed.kind() == "Status" => parsed.to_value(),
            Transform::None if self.how.format == Format::Protobuf => return Ok(protobuf::object(&self.kind, &parsed)),
            Transform::None => parsed.to_value(),
            Transform::PartialObjectMetadata(version) => self.metadata_of(&parsed, version).into_value(),
            Transform::PartialObjectMetadataList(_) => {
                let message = format!(
                    "you requested PartialObjectMetadataList, but the requested object is not a list ({})",
                    go_type(self.kind.gvk(), "")
                );
                return Err(Status::failure(406, reason::NOT_ACCEPTABLE, message));
            }
            Transform::Table(version) => {
                let mut table = self.table(version, json!({"resourceVersion": parsed.resource_version()}));
                table.insert("rows".into(), vec![self.row(&parsed, version)].into());
                Value::Object(table)
            }
        };
        Ok(respond::encode(&value, self.how))
    }

    /// Whether an object is of the rendered kind, and not another representation, such as a subresource.
    fn is_own(&self, object: &Stored) -> bool {
        let kind = self.kind.gvk();
        object.kind_and_version().is_some_and(|(name, version)| name == kind.kind && version == kind.api_version())
    }

    /// Whether objects can be [`handed`](Self::handed).
    pub(crate) fn hands_over(&self) -> bool {
        self.how.format == Format::Json
            && matches!(self.how.transform, Transform::None | Transform::PartialObjectMetadata(_))
    }

    /// One object for a client in the same process; `None` if the representation is not the object in JSON.
    pub(crate) fn handed(&self, object: &Stored) -> Option<Box<dyn Handed>> {
        if !self.hands_over() {
            return None;
        }
        let object = object.clone();
        Some(match self.how.transform {
            Transform::PartialObjectMetadata(version) => {
                Box::new(Metadata { rendering: self.clone(), version, object })
            }
            _ => Box::new(object),
        })
    }

    /// The fields of a list except its items, and the name of the field of the items.
    pub(crate) fn list_head(&self, list: &StoredList) -> Result<(Map<String, Value>, &'static str), Status> {
        let metadata = list_metadata(list);
        let plain = |kind: &str, api_version: &str| {
            let mut head = Map::new();
            head.insert("kind".into(), kind.into());
            head.insert("apiVersion".into(), api_version.into());
            head.insert("metadata".into(), metadata.clone());
            head
        };
        match self.how.transform {
            Transform::None => {
                let row = self.kind.row();
                let mut head = plain(&row.list_kind, &row.kind.api_version());
                // Lists of maps always have `continue`, even if it is empty.
                if self.kind.offers().form == MemoryForm::Maps
                    && let Some(Value::Object(metadata)) = head.get_mut("metadata")
                {
                    metadata.entry("continue").or_insert_with(|| "".into());
                }
                Ok((head, "items"))
            }
            Transform::PartialObjectMetadataList(version) => {
                Ok((plain("PartialObjectMetadataList", version.api_version()), "items"))
            }
            Transform::PartialObjectMetadata(_) => {
                let message = format!(
                    "you requested PartialObjectMetadata, but the requested object is a list ({})",
                    go_type(self.kind.gvk(), "List")
                );
                Err(Status::failure(406, reason::NOT_ACCEPTABLE, message))
            }
            Transform::Table(version) => Ok((self.table(version, metadata), "rows")),
        }
    }

    /// Appends one item of a list in JSON.
    pub(crate) fn push_item(&self, object: &Stored, out: &mut Vec<u8>) {
        match self.how.transform {
            Transform::None => match self.kind.offers().form {
                MemoryForm::Structs => object.write_json_item(out),
                MemoryForm::Maps => object.write_json(out),
            },
            Transform::PartialObjectMetadata(version) | Transform::PartialObjectMetadataList(version) => {
                out.append(&mut self.metadata_json(object, version));
            }
            Transform::Table(version) => push_json(&self.row(&object.object(), version), out),
        }
    }

    /// Appends a watch event.
    pub(crate) fn push_event(&mut self, event: WatchEventType, object: &Stored, out: &mut Vec<u8>) {
        if self.how.transform == Transform::None && self.how.format == Format::Protobuf {
            let message = self.renderings.message(&self.kind, object);
            schema_protobuf::push_watch_event(event, self.kind.gvk(), &message, out);
        } else if self.how.transform == Transform::None {
            out.reserve(object.len() + frame::AROUND);
            frame::push_event(self.how.format, event, |out| object.write_json(out), out);
        } else {
            self.push_object_event(event, &object.object(), out);
        }
    }

    /// Appends a watch event with an object that may never have been stored: a bookmark.
    pub(crate) fn push_object_event(&mut self, event: WatchEventType, object: &Object, out: &mut Vec<u8>) {
        let metadata;
        let shown = match self.how.transform {
            Transform::None => object,
            Transform::PartialObjectMetadata(version) | Transform::PartialObjectMetadataList(version) => {
                metadata = self.metadata_of(object, version);
                &metadata
            }
            Transform::Table(version) => {
                let mut table = self.table(version, json!({"resourceVersion": object.resource_version()}));
                table.insert("rows".into(), vec![self.row(object, version)].into());
                self.columns_due = false;
                frame::push_event(self.how.format, event, |out| push_json(&Value::Object(table), out), out);
                return;
            }
        };
        let (format, kind) = (self.how.format, &self.kind);
        let write = |out: &mut Vec<u8>| match format {
            Format::Protobuf => out.extend(protobuf::object(kind, shown)),
            Format::Json | Format::Yaml => push_json(&shown.to_value(), out),
        };
        frame::push_event(format, event, write, out);
    }

    /// Appends an error event.
    pub(crate) fn push_error(&self, status: &Status, out: &mut Vec<u8>) {
        let value = respond::status_value(status);
        let format = self.how.format;
        let write = |out: &mut Vec<u8>| match format {
            Format::Protobuf => out.extend(protobuf::encode(&value)),
            Format::Json | Format::Yaml => push_json(&value, out),
        };
        frame::push_event(format, WatchEventType::Error, write, out);
    }

    /// A table without its rows.
    fn table(&self, version: MetaVersion, metadata: Value) -> Map<String, Value> {
        let columns = match &self.projection {
            _ if !self.columns_due => Vec::new(),
            Some(projection) => projection.columns(),
            None => self.kind.spec().headings(),
        };
        let columns = if self.columns_due { columns.iter().map(column).collect() } else { Value::Null };
        let mut table = Map::new();
        table.insert("kind".into(), "Table".into());
        table.insert("apiVersion".into(), version.api_version().into());
        table.insert("metadata".into(), metadata);
        table.insert("columnDefinitions".into(), columns);
        table
    }

    /// `PartialObjectMetadata` of an object.
    fn metadata_of(&self, object: &Object, version: MetaVersion) -> Object {
        let mut partial = Object::default();
        partial.set("kind", "PartialObjectMetadata");
        partial.set("apiVersion", version.api_version());
        partial.set("metadata", object.field("metadata").cloned().unwrap_or_else(|| json!({})));
        for hidden in self.kind.spec().hidden_annotations {
            partial.remove(&["metadata", "annotations", hidden]);
        }
        if partial.field("metadata.annotations").and_then(Value::as_object).is_some_and(Map::is_empty) {
            partial.remove("metadata.annotations");
        }
        partial
    }

    /// The same as JSON: a slice of the stored JSON, unless annotations are hidden.
    fn metadata_json(&self, object: &Stored, version: MetaVersion) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.kind.spec().hidden_annotations.is_empty() {
            push_json(self.metadata_of(&object.object(), version).as_value(), &mut out);
            return out;
        }
        let head = format!(r#"{{"kind":"PartialObjectMetadata","apiVersion":"{}","metadata":"#, version.api_version());
        out.extend_from_slice(head.as_bytes());
        object.write_metadata(&mut out);
        out.push(b'}');
        out
    }

    fn row(&self, object: &Object, version: MetaVersion) -> Value {
        let spec = self.kind.spec();
        let shown = match self.include {
            IncludeObject::None => Value::Null,
            IncludeObject::Object => object.to_value(),
            IncludeObject::Metadata => self.metadata_of(object, version).into_value(),
        };
        let mut cells = match &self.projection {
            Some(projection) => projection.cells(object, self.now),
            None => spec.cells(object, self.now),
        };
        if self.marked.as_deref() == Some(object.name()) {
            cells[0] = format!("{} (default)", object.name()).into();
        }
        let mut row = json!({"cells": cells, "object": shown});
        let conditions = (spec.row_conditions)(object);
        if !conditions.is_empty() {
            row["conditions"] = conditions.into();
        }
        row
    }
}

/// An object's metadata, rendered only if a client in the same process takes it, because no other client gets the same.
struct Metadata {
    rendering: Rendering,
    version: MetaVersion,
    object: Stored,
}

impl Handed for Metadata {
    fn revision(&self) -> i64 {
        self.object.revision()
    }

    fn decode(&self, form: ObjectType) -> Result<Arc<dyn AnyObject>, serde_json::Error> {
        form.read(&self.rendering.metadata_json(&self.object, self.version), None)
    }
}

fn list_metadata(list: &StoredList) -> Value {
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".into(), list.revision.to_string().into());
    if !list.continue_token.is_empty() {
        metadata.insert("continue".into(), list.continue_token.as_str().into());
        if let Some(remaining) = list.remaining {
            metadata.insert("remainingItemCount".into(), remaining.into());
        }
    }
    Value::Object(metadata)
}

fn column(column: &Column) -> Value {
    json!({
        "name": column.name, "type": column.kind, "format": column.format,
        "description": column.description, "priority": column.priority,
    })
}

/// The name of a kind in Kubernetes' messages: that of its Go type.
fn go_type(kind: &GroupVersionKind, suffix: &str) -> String {
    let package = match kind.group.split('.').next() {
        None | Some("") => "core",
        Some(group) => group,
    };
    format!("*{package}.{}{suffix}", kind.kind)
}

fn push_json(value: &Value, out: &mut Vec<u8>) {
    // A JSON value can always be written to memory.
    let _ = serde_json::to_writer(out, value);
}
