//! What create, get, list, watch, update, patch, apply and delete mean, for any kind.
//!
//! ```text
//! Request --Registry--> Kind (Strategy + schema) --Admission--> prepare, validate --attempt--> Storage
//! ```
//! Start at [`Registry`]. What is special about a kind is its [`Strategy`]; no kind is known here by name.
//! Not here: HTTP (`apiserver`), the kinds (`resources`), the plug-ins (`admission`), who may do what (`auth`).

mod admission;
mod authenticator;
mod authorizer;
mod kind;
mod options;
mod registry;
mod request;
mod selection;
mod strategy;
mod subresource;
pub mod table;
mod user;
mod verbs;

pub use admission::{Admission, Operation, Review};
pub use authenticator::{Authenticated, Authenticator, Credentials};
pub use authorizer::{Attributes, Authorizer, Decision, PathRule, ResourceRule, ResourceTarget, Rules, Target};
pub use coracle_storage::{List, Stored, Watch};
pub use kind::Kind;
pub use options::{DeleteOptions, GetOptions, ListOptions, Patch, PatchKind, Preconditions, Propagation};
pub use registry::{Kinds, Registry, RegistryBuilder};
pub use request::{FieldValidation, Request, Verb, Warnings};
pub use selection::text_at;
pub use strategy::{Generation, Strategy};
pub use subresource::{
    Action, Computed, Connect, Destination, Projection, Reservation, Subresource, View, keep_all_but_status,
};
pub use table::Column;
pub use user::User;
pub use verbs::{Deleted, Written};
