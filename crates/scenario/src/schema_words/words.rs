//! The words, texts and objects of files as types with a schema.

use std::borrow::Cow;
use std::collections::BTreeSet;

use coracle_release::Release;
use coracle_schema::Table;
use coracle_sim::ChangeKind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::broken_controller::BROKEN_CONTROLLERS;
use crate::component_words::{COMPONENTS, controllers, senders};
use crate::word_lists::{MOMENTS, PROPAGATION_POLICIES, REQUEST_VERBS, WRITE_VERBS};

/// Defines types that only have a schema, which is referred to by the name of the type.
macro_rules! schemas {
    ($($(#[doc = $doc:literal])+ $name:ident: |$generator:ident| $schema:expr;)*) => {
        $(
            $(#[doc = $doc])+
            pub(crate) enum $name {}

            impl JsonSchema for $name {
                fn schema_name() -> Cow<'static, str> {
                    stringify!($name).into()
                }

                fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                    let mut schema: Schema = $schema;
                    schema.insert("description".to_owned(), concat!($($doc),+).trim().into());
                    schema
                }
            }
        )*
    };
}

schemas! {
    /// A duration: `500ms`, `30s`, `1h30m`.
    DurationText: |_generator| json_schema!({"type": "string", "pattern": DURATION});
    /// How the clock runs: `virtual`, `real` or `scaled=N`.
    ModeText: |_generator| json_schema!({"type": "string", "anyOf": [{"enum": ["virtual", "real"]}, {"pattern": "^scaled=.+$"}]});
    /// A Kubernetes release, such as `1.36`.
    ReleaseText: |_generator| json_schema!({"type": "string", "enum": Release::all().map(|release| release.version()).collect::<Vec<_>>()});
    /// A kind.
    KindWord: |_generator| known_or_other(kinds());
    /// The plural of a resource, with `/SUBRESOURCE` for requests of a subresource.
    PluralWord: |_generator| known_or_other(plurals());
    /// A component, a controller, a node as `kubelet/NAME`, a user, or `scenario`.
    RequestWord: |_generator| known_or_other(requesters());
    /// A part of a component, a node as `kubelet/NAME`, a user, or `scenario`.
    SenderWord: |_generator| known_or_other(senders().chain(others()));
    /// A component, a controller such as `controller-manager/replicaset`, or `store`.
    ComponentWord: |_generator| words(components_without_nodes().chain(["store".to_owned()]));
    /// A component, a controller, `kubelet` for all nodes, or `kubelet/NAME` for one node.
    FaultyComponentWord: |_generator| json_schema!({
        "type": "string",
        "anyOf": [{"enum": components().collect::<Vec<_>>()}, {"pattern": "^kubelet/"}],
    });
    /// A component, or the program of the plan.
    AnyComponentWord: |_generator| known_or_other(components());
    /// A controller such as `controller-manager/replicaset`, or a node as `kubelet/NAME`.
    OwnInformersWord: |_generator| json_schema!({"type": "string", "anyOf": [words(controllers()), {"pattern": "^kubelet/"}]});
    /// A node, by name.
    NodeText: |_generator| json_schema!({"type": "string"});
    /// A deliberately broken controller.
    ToyWord: |_generator| words(texts(BROKEN_CONTROLLERS));
    /// The verb of a request.
    VerbWord: |_generator| words(texts(REQUEST_VERBS));
    /// The verb of a write.
    WriteVerbWord: |_generator| words(texts(WRITE_VERBS));
    /// The moment of a request.
    MomentWord: |_generator| words(texts(&MOMENTS));
    /// The type of a change, as in a watch.
    ChangeWord: |_generator| words(ChangeKind::ALL.map(|kind| kind.word().to_owned()));
    /// What becomes of dependents.
    PropagationWord: |_generator| words(texts(PROPAGATION_POLICIES));
    /// A Kubernetes object.
    WholeObject: |generator| object(generator);
    /// A partial Kubernetes object: only the fields that it names are compared, or changed.
    PartialObject: |generator| object(generator);
    /// A JSON merge patch.
    MergePatch: |_generator| json_schema!({"type": "object"});
}

/// The durations that `coracle_meta::parse_duration` accepts, and a few more.
const DURATION: &str = "^\\+?(0|([0-9.]+(ns|us|µs|μs|ms|s|m|h))+)$";

fn kinds() -> impl Iterator<Item = String> {
    Table::newest().resources().iter().map(|row| row.kind.kind.clone())
}

fn plurals() -> impl Iterator<Item = String> {
    Table::newest().resources().iter().map(|row| row.plural.clone())
}

fn texts(words: &[&str]) -> impl Iterator<Item = String> {
    words.iter().map(|&word| word.to_owned())
}

/// One of these words.
pub(super) fn words(words: impl IntoIterator<Item = String>) -> Schema {
    let words: Vec<String> = words.into_iter().collect();
    json_schema!({"type": "string", "enum": words})
}

/// One of these words, each with its meaning.
pub fn schema_of_words<'w>(about: &str, known: impl IntoIterator<Item = (&'w str, &'w str)>) -> Schema {
    let (known, meanings): (Vec<&str>, Vec<&str>) = known.into_iter().unzip();
    json_schema!({"type": "string", "description": about, "enum": known, "markdownEnumDescriptions": meanings})
}

/// One of these words, which editors propose, or another text, which only the parser can judge.
pub(super) fn known_or_other(known: impl IntoIterator<Item = String>) -> Schema {
    let known: BTreeSet<String> = known.into_iter().collect();
    json_schema!({"anyOf": [{"enum": known}, {"type": "string"}]})
}

/// The components that exist once, and the controllers.
pub(super) fn components_without_nodes() -> impl Iterator<Item = String> {
    components().filter(|name| name != "kubelet")
}

fn components() -> impl Iterator<Item = String> {
    texts(&COMPONENTS).chain(controllers())
}

fn others() -> impl Iterator<Item = String> {
    let toys = BROKEN_CONTROLLERS.iter().map(|name| format!("toy/{name}"));
    toys.chain(["scenario".to_owned()])
}

fn requesters() -> impl Iterator<Item = String> {
    components().chain(others())
}

/// An object with a kind; its fields are left to the parser.
fn object(generator: &mut SchemaGenerator) -> Schema {
    let rows = Table::newest().resources();
    let versions: BTreeSet<String> = rows.iter().map(|row| row.kind.api_version()).collect();
    let known = |words: &BTreeSet<String>| -> Value { json!({"anyOf": [{"enum": words}, {"type": "string"}]}) };
    json_schema!({
        "type": "object",
        "properties": {"apiVersion": known(&versions), "kind": generator.subschema_for::<KindWord>()},
        "required": ["apiVersion", "kind"],
    })
}
