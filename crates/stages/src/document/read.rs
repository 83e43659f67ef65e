//! Reads the fields of a document, and rejects unknown ones.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::document::refusal::Refusal;
use crate::document::tree::{Part, Tree};

/// A node of a document, and its path.
#[derive(Clone)]
pub(crate) struct DocumentNode<'t> {
    pub(crate) tree: &'t Tree,
    pub(crate) path: String,
}

/// The fields of a node that were not read yet.
pub(crate) struct Fields<'t> {
    line: u64,
    path: String,
    left: Vec<(&'t str, &'t Tree)>,
}

impl<'t> DocumentNode<'t> {
    /// The root of a document.
    pub(crate) fn root(tree: &'t Tree) -> Self {
        Self { tree, path: String::new() }
    }

    pub(crate) fn refused(&self, message: impl Into<String>) -> Refusal {
        Refusal { line: self.tree.line, path: self.path.clone(), message: message.into() }
    }

    pub(crate) fn fields(&self) -> Result<Fields<'t>, Refusal> {
        let Part::Map(fields) = &self.tree.part else { return Err(self.refused("must be a map")) };
        let left = fields.iter().map(|(key, value)| (key.as_str(), value)).collect();
        Ok(Fields { line: self.tree.line, path: self.path.clone(), left })
    }

    pub(crate) fn items(&self) -> Result<Vec<Self>, Refusal> {
        let Part::List(items) = &self.tree.part else { return Err(self.refused("must be a list")) };
        let place = |(at, tree)| Self { tree, path: format!("{}[{at}]", self.path) };
        Ok(items.iter().enumerate().map(place).collect())
    }

    pub(crate) fn text(&self) -> Result<&'t str, Refusal> {
        match &self.tree.part {
            Part::Scalar(Json::String(text)) => Ok(text),
            _ => Err(self.refused("must be a string")),
        }
    }

    /// A map of strings.
    pub(crate) fn texts_by_name(&self) -> Result<BTreeMap<String, String>, Refusal> {
        let fields = self.fields()?;
        let text = |(key, tree): &(&'t str, &'t Tree)| {
            let place = DocumentNode { tree, path: format!("{}.{key}", self.path) };
            Ok(((*key).to_owned(), place.text()?.to_owned()))
        };
        fields.left.iter().map(text).collect()
    }

    /// An integer that is not negative.
    pub(crate) fn number(&self) -> Result<i64, Refusal> {
        let number = match &self.tree.part {
            Part::Scalar(Json::Number(number)) => number.as_i64(),
            _ => None,
        };
        number.filter(|number| *number >= 0).ok_or_else(|| self.refused("must be an integer of at least 0"))
    }

    pub(crate) fn flag(&self) -> Result<bool, Refusal> {
        match self.tree.part {
            Part::Scalar(Json::Bool(flag)) => Ok(flag),
            _ => Err(self.refused("must be true or false")),
        }
    }
}

impl<'t> Fields<'t> {
    pub(crate) fn refused(&self, message: impl Into<String>) -> Refusal {
        Refusal { line: self.line, path: self.path.clone(), message: message.into() }
    }

    /// A field, if it exists and is not null.
    pub(crate) fn take(&mut self, name: &str) -> Option<DocumentNode<'t>> {
        let at = self.left.iter().position(|(key, _)| *key == name)?;
        let (_, tree) = self.left.swap_remove(at);
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        (!tree.is_null()).then_some(DocumentNode { tree, path })
    }

    pub(crate) fn need(&mut self, name: &str) -> Result<DocumentNode<'t>, Refusal> {
        self.take(name).ok_or_else(|| self.refused(format!("needs {name}")))
    }

    /// A string; empty if it does not exist.
    pub(crate) fn text(&mut self, name: &str) -> Result<String, Refusal> {
        self.take(name).map_or(Ok(String::new()), |place| place.text().map(str::to_owned))
    }

    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, Refusal> {
        self.take(name).map_or(Ok(false), |place| place.flag())
    }

    /// The items of a list; none if it does not exist.
    pub(crate) fn items(&mut self, name: &str) -> Result<Vec<DocumentNode<'t>>, Refusal> {
        self.take(name).map_or(Ok(Vec::new()), |place| place.items())
    }

    /// Rejects fields that were not read.
    pub(crate) fn end(self) -> Result<(), Refusal> {
        let Some((key, tree)) = self.left.first() else { return Ok(()) };
        let path = if self.path.is_empty() { (*key).to_owned() } else { format!("{}.{key}", self.path) };
        Err(Refusal { line: tree.line, path, message: "is no field of a Stage".to_owned() })
    }
}
