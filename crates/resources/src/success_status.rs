use coracle_meta::Object;
use serde_json::json;

/// A success Status as an object.
pub(crate) fn success() -> Object {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Object::from_value(status).expect("a status is a JSON object")
}
