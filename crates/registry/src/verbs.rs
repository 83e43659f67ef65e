use coracle_meta::{Object, Status};
use coracle_storage::{List, Stored, Watch};

use crate::{DeleteOptions, Destination, GetOptions, ListOptions, Patch, Registry, Request};

/// What an update or a patch made.
#[derive(Clone, Debug)]
pub struct Written {
    /// The object now.
    pub object: Stored,
    /// Whether it was not there before (201 instead of 200).
    pub created: bool,
}

/// What a delete answers.
#[derive(Clone, Debug)]
pub enum Deleted {
    /// The object: it stays for now, or its kind answers so.
    Object(Stored),
    /// Success, and what was deleted.
    Status(Status),
}

impl Registry {
    /// Reads one object, or its part that `request.subresource` names.
    pub async fn get(&self, _request: &Request, _options: &GetOptions) -> Result<Stored, Status> {
        Err(Status::internal("get"))
    }

    /// Lists objects.
    pub async fn list(&self, _request: &Request, _options: &ListOptions) -> Result<List, Status> {
        Err(Status::internal("list"))
    }

    /// Watches objects.
    pub async fn watch(&self, _request: &Request, _options: &ListOptions) -> Result<Watch, Status> {
        Err(Status::internal("watch"))
    }

    /// Creates an object, or asks a subresource that is an action. `object` is decoded, in the version of the request.
    pub async fn create(&self, _request: &Request, _object: Object) -> Result<Stored, Status> {
        Err(Status::internal("create"))
    }

    /// Replaces an object, or its part that `request.subresource` names.
    pub async fn update(&self, _request: &Request, _object: Object) -> Result<Written, Status> {
        Err(Status::internal("update"))
    }

    /// Patches or applies.
    pub async fn patch(&self, _request: &Request, _patch: &Patch) -> Result<Written, Status> {
        Err(Status::internal("patch"))
    }

    /// Deletes an object, or begins to.
    pub async fn delete(&self, _request: &Request, _options: &DeleteOptions) -> Result<Deleted, Status> {
        Err(Status::internal("delete"))
    }

    /// Deletes all objects of a selection; answers with what was deleted.
    pub async fn delete_collection(
        &self,
        _request: &Request,
        _options: &DeleteOptions,
        _selection: &ListOptions,
    ) -> Result<List, Status> {
        Err(Status::internal("deletecollection"))
    }

    /// Where a connection to a subresource goes (`log`, `exec`, `proxy`).
    pub async fn connect(
        &self,
        _request: &Request,
        _path: &str,
        _query: &[(String, String)],
    ) -> Result<Destination, Status> {
        Err(Status::internal("connect"))
    }
}
