//! Objects, parts of objects and references to objects.

use std::path::Path;

use coracle_yaml::{Location, Spanned};
use serde_json::Value;

use super::Checker;
use crate::file::{Reference, Wait, WaitFor};
use crate::misfit::Misfit;
use crate::object_file::{read_objects, take_apart};
use crate::parse::Problem;
use crate::parse::known::Kind;
use crate::path::{Position, path_of};
use crate::placed::place_in;
use crate::word::nearest;

#[derive(Clone, Copy)]
pub(super) enum NeedsName {
    Yes,
    NameOrLabels,
}

impl Checker<'_> {
    pub(super) fn resource(
        &self,
        place: Location,
        resource: Option<&Spanned<Value>>,
        file: Option<&Spanned<String>>,
    ) -> Result<(), Problem> {
        match (resource, file) {
            (Some(object), None) => self.whole(object),
            (None, Some(file)) => {
                let path = self.path.parent().unwrap_or(Path::new(".")).join(&file.value);
                let objects = read_objects(&path).map_err(|why| self.problem(file.location, why))?;
                for object in objects {
                    let word = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
                    let (api_version, kind) = (word("apiVersion"), word("kind"));
                    self.known_kind(file.location, &api_version, &kind)?;
                    if let Some(misfit) = self.vocabulary.misfit(&api_version, &kind, &object) {
                        return Err(self.problem(file.location, format!("{}: {}", file.value, misfit.message)));
                    }
                }
                Ok(())
            }
            _ => Err(self.problem(place, "needs either `resource` or `file`")),
        }
    }

    /// The `apiVersion` and the kind of an object, which must be known.
    pub(super) fn kind_of<'o>(&self, object: &'o Spanned<Value>) -> Result<(&'o str, &'o str), Problem> {
        let word = |name: &str| object.value.get(name).and_then(Value::as_str);
        match (word("apiVersion"), word("kind")) {
            (Some(api_version), Some(kind)) => {
                self.known_kind(object.location, api_version, kind)?;
                Ok((api_version, kind))
            }
            (None, _) => Err(self.problem(object.location, "the object has no `apiVersion`")),
            (_, None) => Err(self.problem(object.location, "the object has no `kind`")),
        }
    }

    /// A complete object, or a list of objects.
    pub(super) fn whole(&self, object: &Spanned<Value>) -> Result<(), Problem> {
        if object.value.get("kind").and_then(Value::as_str) == Some("List") {
            if !object.value.get("apiVersion").is_some_and(Value::is_string) {
                return Err(self.problem(object.location, "the object has no `apiVersion`"));
            }
            for item in take_apart(object.value.clone()) {
                let item = Spanned::new(item, object.location);
                let (api_version, kind) = self.kind_of(&item)?;
                if let Some(misfit) = self.vocabulary.misfit(api_version, kind, &item.value) {
                    return Err(self.problem(object.location, misfit.message));
                }
            }
            return Ok(());
        }
        let (api_version, kind) = self.kind_of(object)?;
        self.fits(object.location, api_version, kind, &object.value)
    }

    /// A partial object to search for.
    pub(super) fn partial(&self, object: &Spanned<Value>) -> Result<(), Problem> {
        let (api_version, kind) = self.kind_of(object)?;
        self.stored(object.location, api_version, kind)?;
        self.fits(object.location, api_version, kind, &object.value)
    }

    /// The kind must have all fields of the object at `place`.
    pub(super) fn fits(&self, place: Location, api_version: &str, kind: &str, object: &Value) -> Result<(), Problem> {
        let Some(Misfit { path, message }) = self.vocabulary.misfit(api_version, kind, object) else { return Ok(()) };
        Err(self.problem(place_in(self.text, place, &path).unwrap_or(place), message))
    }

    /// Objects are compared in their stored version; in another version, none would be found.
    pub(super) fn stored(&self, place: Location, api_version: &str, kind: &str) -> Result<(), Problem> {
        match self.vocabulary.stored_version(api_version, kind) {
            Some(stored) if stored != api_version => {
                let why =
                    format!("objects of kind {kind} are stored, and looked at, in `{stored}`, not in `{api_version}`");
                Err(self.problem(place, why))
            }
            _ => Ok(()),
        }
    }

    /// A reference that chooses among the existing objects.
    pub(super) fn chosen(&self, place: Location, reference: &Reference) -> Result<(), Problem> {
        self.reference(place, reference, NeedsName::NameOrLabels)?;
        self.stored(reference.api_version.location, &reference.api_version.value, &reference.kind.value)
    }

    pub(super) fn wait(&self, wait: &Wait) -> Result<(), Problem> {
        self.kind(&wait.api_version, &wait.kind)?;
        let (api_version, kind) = (&*wait.api_version.value, &*wait.kind.value);
        self.stored(wait.api_version.location, api_version, kind)?;
        let looked_at = match &wait.condition {
            WaitFor::Creation(_) | WaitFor::Deletion(_) => return Ok(()),
            WaitFor::Condition(_) => (wait.kind.location, serde_json::json!({"status": {"conditions": []}})),
            WaitFor::JsonPath(wanted) => {
                let part = path_of(&wanted.path.value).map_err(|why| self.problem(wanted.path.location, why))?;
                let within = |below: Value, position: &Position| match position {
                    Position::Key(name) => Value::Object([(name.clone(), below)].into_iter().collect()),
                    Position::Item(_) => Value::Array(vec![below]),
                };
                (wanted.path.location, part.iter().rev().fold(Value::Null, within))
            }
        };
        match self.vocabulary.misfit(api_version, kind, &looked_at.1) {
            Some(misfit) => Err(self.problem(looked_at.0, misfit.message)),
            None => Ok(()),
        }
    }

    pub(super) fn kind(&self, api_version: &Spanned<String>, kind: &Spanned<String>) -> Result<(), Problem> {
        self.known_kind(kind.location, &api_version.value, &kind.value)
    }

    pub(super) fn known_kind(&self, place: Location, api_version: &str, kind: &str) -> Result<(), Problem> {
        let custom: Kind = (api_version.to_owned(), kind.to_owned());
        if self.vocabulary.plural(api_version, kind).is_some() || self.known.custom.contains_key(&custom) {
            return Ok(());
        }
        let mut kinds = self.vocabulary.kinds();
        kinds.extend(self.known.custom.keys().map(|(_, kind)| kind.clone()));
        let hint = nearest(kind, kinds.iter().map(String::as_str)).map_or(String::new(), |near| {
            if near == kind {
                format!("; `{kind}` exists in another apiVersion")
            } else {
                format!("; did you mean `{near}`?")
            }
        });
        Err(self.problem(place, format!("no kind `{kind}` in `{api_version}`{hint}")))
    }

    pub(super) fn reference(&self, place: Location, reference: &Reference, needs: NeedsName) -> Result<(), Problem> {
        let missing = match needs {
            NeedsName::Yes => reference.name.is_none().then_some("`ref` needs a `name`"),
            NeedsName::NameOrLabels => {
                (reference.name.is_none() && reference.labels.is_empty()).then_some("`ref` needs a `name` or `labels`")
            }
        };
        match missing {
            Some(message) => Err(self.problem(place, message)),
            None => self.kind(&reference.api_version, &reference.kind),
        }
    }
}
