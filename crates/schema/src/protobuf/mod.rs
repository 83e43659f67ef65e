//! Protobuf.
use crate::decode::raw::Raw;
use crate::table::KindSchema;
use coracle_meta::GroupVersionKind;
pub(crate) fn decode_raw(_: &[u8], _: &GroupVersionKind, _: &KindSchema) -> Result<Raw, String> {
    Err("protobuf is not supported".to_owned())
}
