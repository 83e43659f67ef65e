use std::sync::Arc;

use coracle_meta::{GroupVersionKind, Object};
use coracle_schema::decode::{decode_stored, has_shape, kind_of_stored, normalize};
use coracle_storage::Resource;

use crate::{Former, MemoryForm, Strategy};

/// The prefix of a value that kube-apiserver has encrypted; the method follows, with colons after its parts.
const ENCRYPTED: &[u8] = b"k8s:enc:";

/// Reads values of a resource that another API server wrote: protobuf messages, or JSON of another version.
///
/// In Kubernetes: the decoder of `etcd3.store`, which recognizes both, with the defaults and conversions of a version.
struct ForeignValues {
    hub: Arc<dyn Strategy>,
    /// The hub and the other versions in which its objects are served.
    versions: Vec<Arc<dyn Strategy>>,
}

/// A resource of the store with a decoder for its values, including those of other API servers. `all` are the served
/// kinds.
pub(super) fn readable(resource: Resource, hub: &Arc<dyn Strategy>, all: &[Arc<dyn Strategy>]) -> Resource {
    let spec = hub.spec();
    if spec.offers.form == MemoryForm::Maps {
        let (schema, of_kind) = (spec.schema.clone(), spec.schema.clone());
        let read = move |value: &[u8]| {
            let object = read_map(value)?;
            let unfit = "its metadata has a value of another type";
            if has_shape(&object, &of_kind) { Ok(object) } else { Err(unfit.to_owned()) }
        };
        return resource.holds_any(Box::new(read)).checks(Box::new(move |object| has_shape(object, &schema)));
    }
    let stored_as = spec.row.resource();
    let is_version = |other: &&Arc<dyn Strategy>| other.spec().row.stored_as == stored_as;
    let versions = all.iter().filter(is_version).cloned().chain([Arc::clone(hub)]).collect();
    let values = ForeignValues { hub: Arc::clone(hub), versions };
    let kind = spec.gvk();
    let schema = spec.schema.clone();
    resource
        .holds(&kind.kind, &kind.api_version(), Box::new(move |value| values.read(value)))
        .checks(Box::new(move |object| has_shape(object, &schema)))
}

/// A custom object: JSON in any version, which is adapted when it is served.
fn read_map(value: &[u8]) -> Result<Object, String> {
    refuse_encrypted(value)?;
    let tree = coracle_meta::json::from_slice(value).map_err(|error| error.to_string())?;
    Object::from_value(tree).map_err(|error| error.to_string())
}

fn refuse_encrypted(value: &[u8]) -> Result<(), String> {
    let Some(rest) = value.strip_prefix(ENCRYPTED) else { return Ok(()) };
    let mut parts = rest.split(|byte| *byte == b':').map(String::from_utf8_lossy);
    let (provider, version, key) = (parts.next(), parts.next(), parts.next());
    let [provider, version, key] = [provider, version, key].map(Option::unwrap_or_default);
    Err(format!(
        "it is encrypted ({provider}, {version}, key {key}), and encryption at rest is not built: let kube-apiserver \
         write it again with the provider `identity`"
    ))
}

impl ForeignValues {
    fn read(&self, value: &[u8]) -> Result<Object, String> {
        refuse_encrypted(value)?;
        let kind = kind_of_stored(value)?;
        let hub = self.hub.spec();
        let version = self.versions.iter().find(|version| version.spec().gvk() == &kind);
        let is_former = |(version, _): &&(&str, Former)| *version == kind.api_version() && kind.kind == hub.gvk().kind;
        let mut object = match (version, hub.former_versions.iter().find(is_former)) {
            (Some(version), _) => from_version(value, &**version, &*self.hub)?,
            (None, Some((_, former))) => from_former(value, former, &*self.hub)?,
            (None, None) => {
                let words = |kind: &GroupVersionKind| format!("{} {}", kind.api_version(), kind.kind);
                return Err(format!("it is a {}, of which no {} can be made", words(&kind), words(hub.gvk())));
            }
        };
        object.set_kind(hub.gvk());
        Ok(object)
    }
}

/// An object of a served version, in the hub's form.
fn from_version(value: &[u8], version: &dyn Strategy, hub: &dyn Strategy) -> Result<Object, String> {
    let mut object = decode_stored(value, &version.spec().schema)?;
    version.drop_nulls(&mut object);
    version.set_defaults(&mut object);
    if version.spec().gvk() == hub.spec().gvk() {
        return Ok(object);
    }
    version.to_hub(&mut object).map_err(|status| status.message)?;
    Ok(normalize(object, &hub.spec().schema)?.object)
}

/// An object of a former version, in the hub's form.
fn from_former(value: &[u8], former: &Former, hub: &dyn Strategy) -> Result<Object, String> {
    let schema = &hub.spec().schema;
    let mut object = match former {
        Former::SameFields => decode_stored(value, schema)?,
        Former::Json(to_hub) => {
            let mut object = read_map(value)?;
            to_hub(&mut object);
            decode_stored(object.as_value().to_string().as_bytes(), schema)?
        }
    };
    hub.drop_nulls(&mut object);
    hub.set_defaults(&mut object);
    Ok(object)
}
