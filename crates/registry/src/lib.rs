//! What create, get, list, watch, update, patch, apply and delete mean, for any kind.
//!
//! ```text
//! Request --Registry--> Kind (Strategy over KindSpec) --Admission--> prepare, validate --attempt--> Storage
//! ```
//! Start at [`Registry`]. What is special about a kind is its [`KindSpec`]; no kind is known here by name.
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
mod hooks;
mod kind;
mod kind_spec;
mod object_meta;
mod offers;
mod options;
mod read;
mod registry;
mod request;
mod restore;
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
pub(crate) use hooks::NoHooks;
pub use hooks::{Hooks, Reservation};
pub use kind::Kind;
pub use kind_spec::{Generation, KindSpec, unknown_finalizer};
pub use object_meta::{annotation_errors, field_manager_errors, label_errors};
pub use offers::{Form, Offers, Rank, Refusals};
pub use options::{DeleteOptions, GetOptions, ListOptions, Patch, PatchKind, Preconditions, Propagation};
pub use read::Watch;
pub use registry::{Kinds, Registry, RegistryBuilder};
pub use request::{FieldValidation, Request, Verb, Warnings};
pub use restore::{restore, restore_metadata};
pub use scale::{Scale, SelectorForm};
pub use strategy::Strategy;
pub use subresource::{Action, BodyKind, Computed, Connect, Destination, Projection, Subresource, View};
pub use table::{Column, TableColumn};
pub use user::User;
pub use write::{Deleted, Plan, Written};
