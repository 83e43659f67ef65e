use coracle_ambient::Timestamp;
use coracle_meta::Object;
use serde_json::Value;

use crate::cells::age;
use crate::columns;
use crate::rules::Rules;
use coracle_meta::fields::Fields;

/// `configmaps`. In Kubernetes: `pkg/registry/core/configmap`.
pub(crate) const CONFIG_MAP: Rules = Rules { columns: columns::CONFIG_MAP, cells, ..Rules::of("", "v1", "configmaps") };

fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let count = object.entries("data").count() + object.entries("binaryData").count();
    vec![object.name().into(), count.into(), age(object, now)]
}
