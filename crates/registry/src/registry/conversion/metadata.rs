use coracle_meta::Object;
use serde_json::Value;

/// Gives a converted object the metadata that it had, but for the labels and annotations that it came back with.
pub(super) fn restore(original: &Object, converted: &mut Object) -> Result<(), String> {
    let answered = converted.field("metadata").cloned();
    let Some(answered) = answered else { return Err("missing metadata in converted object".to_owned()) };
    let Value::Object(mut answered) = answered else {
        return Err("invalid metadata in converted object".to_owned());
    };
    let mut metadata = original.field("metadata").cloned().unwrap_or_else(|| Value::Object(Default::default()));
    for field in ["labels", "annotations"] {
        let kept = answered.remove(field).unwrap_or(Value::Null);
        let fields = match (kept, metadata.as_object_mut()) {
            (Value::Null, fields) => {
                fields.map(|fields| fields.remove(field));
                continue;
            }
            (Value::Object(kept), Some(fields)) if kept.values().all(Value::is_string) => (kept, fields),
            _ => return Err(format!("invalid metadata.{field} in converted object")),
        };
        let (kept, fields) = fields;
        fields.insert(field.to_owned(), Value::Object(kept));
    }
    converted.set("metadata", metadata);
    Ok(())
}
