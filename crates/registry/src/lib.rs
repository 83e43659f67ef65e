//! What create, get, list, watch, update, patch, apply and delete mean, for any kind.
//!
//! ```text
//! Request --Registry--> Kind (Strategy + schema) --Admission--> prepare, validate --attempt--> Storage
//! ```
//! Start at [`Registry`]. What is special about a kind is its [`Strategy`]; no kind is known here by name.
//! Not here: HTTP (`apiserver`), the kinds (`resources`), the plug-ins (`admission`), who may do what (`auth`).

mod admission;
mod admit;
mod authenticator;
mod authorizer;
mod convert;
pub mod custom;
mod decode;
mod derived;
mod flows;
mod kind;
mod object_meta;
mod options;
mod read;
mod registry;
mod request;
mod scale;
mod selection;
mod strategy;
mod subresource;
pub mod table;
mod user;
mod versions;
mod write;

pub use admission::{Admission, Operation, Review};
pub use authenticator::{Authenticated, Authenticator, Credentials};
pub use authorizer::{Attributes, Authorizer, Decision, PathRule, ResourceRule, Rules, Target, forbidden};
pub use coracle_storage::{List, Stored};
pub use derived::{Derived, Lists};
pub use flows::{Flow, Flows, NoFlows};
pub use kind::Kind;
pub use object_meta::{annotation_errors, field_manager_errors, label_errors};
pub use options::{DeleteOptions, GetOptions, ListOptions, Patch, PatchKind, Preconditions, Propagation};
pub use read::Watch;
pub use registry::{Kinds, Registry, RegistryBuilder};
pub use request::{FieldValidation, Request, Verb, Warnings};
pub use scale::{Scale, SelectorForm};
pub use selection::text_at;
pub use strategy::{Generation, Strategy};
pub use subresource::{
    Action, Computed, Connect, Destination, Projection, Reservation, Subresource, View, keep_all_but_status,
    keep_spec_and_labels,
};
pub use table::Column;
pub use user::User;
pub use write::{Deleted, Plan, Written};
