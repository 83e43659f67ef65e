use std::borrow::Cow;
use std::sync::Arc;

use coracle_meta::{Object, Status};
use coracle_schema::KindSchema;
use coracle_schema::apply::{Filter, TablePlace, Versions};
use parking_lot::Mutex;
use serde_json::Value;

use crate::registry::ServedVersion;
use crate::{Kind, Kinds, MemoryForm, Planned, Questions, Unplanned};

/// The versions of a kind, for managed fields.
#[derive(Debug)]
pub(crate) struct KindVersions {
    versions: Arc<[ServedVersion]>,
    filter: Filter,
    is_custom: bool,
    /// The conversions that the managed fields need and that no webhook has done yet.
    needs: Mutex<Questions>,
}

impl KindVersions {
    /// All versions in which the stored objects of `kind` are served; a write can own the fields that pass `filter`.
    pub(crate) fn of(kinds: &Kinds, kind: &Kind, filter: Filter) -> Self {
        let versions = kinds.versions_of(kind);
        let beside = |(version, other): &ServedVersion| (version.clone(), Arc::clone(other).beside(kind));
        let versions = if kind.conversions.is_some() { versions.iter().map(beside).collect() } else { versions };
        let is_custom = kind.offers().form == MemoryForm::Maps;
        Self { versions, filter, is_custom, needs: Mutex::default() }
    }

    /// The result, if all required versions of the objects were available.
    ///
    /// # Errors
    /// The required conversions, otherwise the error in `result`.
    pub(crate) fn settled<T>(&self, result: Result<T, Status>) -> Planned<T> {
        let needs = std::mem::take(&mut *self.needs.lock());
        if needs.is_empty() { result.map_err(Unplanned::Refused) } else { Err(Unplanned::Needs(needs)) }
    }

    fn kind(&self, api_version: &str) -> Option<&Kind> {
        self.versions.iter().find(|(version, _)| version == api_version).map(|(_, kind)| &**kind)
    }

    fn schema(&self, api_version: &str) -> Option<&KindSchema> {
        self.kind(api_version).map(Kind::schema)
    }
}

impl<'k> Versions for &'k KindVersions {
    type Place = TablePlace<'k>;

    fn schema_may_change(&self) -> bool {
        self.is_custom
    }

    fn place(&self, api_version: &str) -> Option<TablePlace<'k>> {
        KindVersions::schema(self, api_version).map(TablePlace::root)
    }

    fn convert<'v>(&self, object: &'v Value, api_version: &str) -> Option<Cow<'v, Value>> {
        let own = object.get("apiVersion").and_then(Value::as_str).unwrap_or("");
        if own == api_version || own.is_empty() {
            return Some(Cow::Borrowed(object));
        }
        let (from, to) = (self.kind(own)?, self.kind(api_version)?);
        let object = Object::from_value(object.clone()).ok()?;
        match from.convert(&object, to) {
            Ok(converted) => Some(Cow::Owned(converted.into_value())),
            Err(Unplanned::Needs(questions)) => {
                self.needs.lock().add(questions);
                None
            }
            Err(Unplanned::Refused(_)) => None,
        }
    }

    fn filter(&self, _api_version: &str) -> Filter {
        self.filter.clone()
    }
}

/// The filter of a path that resets these fields.
pub(crate) fn all_but(reset: &[Vec<String>]) -> Filter {
    if reset.is_empty() {
        return Filter::All;
    }
    let paths: Vec<Vec<&str>> = reset.iter().map(|path| path.iter().map(String::as_str).collect()).collect();
    let paths: Vec<&[&str]> = paths.iter().map(Vec::as_slice).collect();
    Filter::except(&paths)
}

/// A kind with one version and a schema, such as `Scale`.
#[derive(Debug)]
pub(crate) struct OneVersion {
    pub(crate) api_version: String,
    pub(crate) schema: KindSchema,
}

impl<'k> Versions for &'k OneVersion {
    type Place = TablePlace<'k>;

    fn schema_may_change(&self) -> bool {
        false
    }

    fn place(&self, api_version: &str) -> Option<TablePlace<'k>> {
        (api_version == self.api_version).then(|| TablePlace::root(&self.schema))
    }

    fn convert<'v>(&self, object: &'v Value, api_version: &str) -> Option<Cow<'v, Value>> {
        (api_version == self.api_version).then_some(Cow::Borrowed(object))
    }

    fn filter(&self, _api_version: &str) -> Filter {
        Filter::All
    }
}
