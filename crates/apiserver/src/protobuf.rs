use coracle_meta::{Object, Status};
use coracle_registry::{Kind, List};
use serde_json::Value;

/// A value in protobuf, with its envelope.
pub(crate) fn encode(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// An object in protobuf, with its envelope.
pub(crate) fn object(object: &Object) -> Result<Vec<u8>, Status> {
    Ok(encode(&object.to_value()))
}

/// A list in protobuf, with its envelope.
pub(crate) fn list(_kind: &Kind, _list: &List) -> Result<Vec<u8>, Status> {
    Err(Status::internal("lists in protobuf"))
}
