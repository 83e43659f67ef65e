//! Authentication and authorization.
//!
//! ```text
//! Credentials --Authenticators--> User --Authorizers--> Decision
//!   ClientCertificates | StaticTokens | ServiceAccountTokens        NodeAuthorizer | Rbac (Policy of Rules)
//!   | TokenWebhook                                                  | AccessWebhook
//! ```
//! Start at [`Authenticators`] and [`Authorizers`]. [`reviews`] serves the review kinds, with which clients request the
//! same decisions.
//! Not here: reading credentials from a request (`apiserver`), verifying certificate chains (the TLS listener).

mod aggregate;
mod authenticators;
mod bound;
mod client_certificates;
mod invalidated;
mod issuer;
mod keys;
mod secret_tokens;
mod service_account_tokens;
mod static_tokens;
mod token_request;
mod webhook;

mod authorizers;
mod binding;
mod node;
mod or_default;
mod policy;
mod policy_blocks;
mod policy_part;
mod rbac;
mod rule;

mod access_review;
mod bootstrap;
mod escalation;
mod reconcile;
mod reviews;

pub use authenticators::Authenticators;
pub use authorizers::{Authorizers, ModeError};
pub use binding::{RoleRef, service_account_name};
pub use bootstrap::bootstrap_policy;
pub use client_certificates::{ClientCertificates, certified_user};
pub use coracle_certificates::{attribute_text, common_name};
pub use escalation::EscalationCheck;
pub use issuer::{Issuer, IssuerSpec, KeyError, PublicDocument, TokenError};
pub use keys::{NoPrivateKey, private_key};
pub use node::NodeAuthorizer;
pub use policy::Policy;
pub use rbac::Rbac;
pub use reconcile::{Reconciled, reconciled};
pub use reviews::reviews;
pub use rule::Rule;
pub use service_account_tokens::ServiceAccountTokens;
pub use static_tokens::{StaticTokens, TokenFileError};
pub use token_request::{TokenLifetimes, TokenRequests};
pub use webhook::{AccessWebhook, Remembered, ReviewVersion, ReviewWebhook, TokenWebhook, UnknownReviewVersion};
