//! The verbs create, get, list, watch, update, patch, apply and delete for any kind.
//!
//! ```text
//! Request --Registry--> Kind (Strategy over KindSpec) --write/: Intent, Admission, Plan, commit--> Storage
//! ```
//! Start at [`Registry`]. The behaviour of a single kind is its [`KindSpec`]; no code depends on a specific kind.
//! Not here: HTTP (`apiserver`), the kinds (`resources`), the plug-ins (`admission`), authorization (`auth`).

mod admit;
mod as_of;
mod audit;
mod body_kind;
pub mod client_config;
mod convert;
pub mod custom;
mod decode;
mod derived;
mod findings;
mod flows;
mod named_texts;
mod object_meta;
mod options;
mod owner_references;
mod per_object;
mod planned;
mod read;
mod registry;
mod request;
mod restore;
mod rules;
mod scale;
mod selection;
pub mod table;
mod unreadable_values;
mod user;
mod versions;
mod write;

pub use as_of::AsOf;
pub use audit::{AuditLevel, AuditNotes, Conflict, Noted};
pub use body_kind::BodyKind;
pub use coracle_storage::{Message, Stored, StoredList};
pub use derived::{Derived, Lists};
pub use flows::{Flow, Flows};
pub use object_meta::base_name;
pub use options::{DeleteOptions, GetOptions, ListOptions, Patch, PatchKind, Preconditions, Propagation};
pub use per_object::PerObject;
pub use read::ServedWatch;
pub(crate) use registry::NoHooks;
pub use registry::{
    Action, Admission, Attributes, Authenticated, Authenticator, Authorizer, CallError, Callee, Caller, Claim,
    ClientConfig, Computed, Connect, ConversionWebhook, Credentials, Decision, Destination, ExpressionPool, Extension,
    ExtensionDocuments, ExtensionRequest, Extensions, Former, Generation, Hooks, Kind, KindSpec, Kinds, MemoryForm,
    Offers, Operation, Outgoing, OutgoingCall, OutgoingResponse, PathRule, Planned, Projection, Questions, Rank,
    Refusals, Registry, RegistryBuilder, Reinvocation, Reservation, ResourceRule, Review, Rules, RunningComponents,
    ServiceAddress, Strategy, Subresource, Target, Trust, Unplanned, View, check_review_kind, forbidden,
    unknown_finalizer,
};
pub use request::{FieldValidation, Request, Verb, Warnings, WriteParameters};
pub use restore::{restore, restore_metadata};
pub use scale::{Scale, SelectorForm};
pub use table::{Column, TableColumn};
pub use unreadable_values::UnreadableValue;
pub use user::User;
pub use write::{Deleted, Plan, SystemFields, Written};
