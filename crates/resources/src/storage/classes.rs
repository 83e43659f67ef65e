//! The common parts of the two kinds of classes: a provisioner and its parameters.

use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, names};

use crate::field_checks::{Wrong, each_invalid, same};

const MOST_PARAMETERS: usize = 512;

const MOST_BYTES_OF_PARAMETERS: usize = 256 << 10;

pub(super) fn provisioner(object: &Object, field: &str) -> Wrong {
    match object.text(field) {
        "" => vec![FieldError::required(field, "").declared()],
        name => {
            let name = name.to_lowercase();
            each_invalid(field, &name, names::qualified_name(&name))
        }
    }
}

pub(super) fn parameters(object: &Object) -> Wrong {
    let count = object.entries("parameters").count();
    if count > MOST_PARAMETERS {
        return vec![FieldError::too_long("parameters", MOST_PARAMETERS)];
    }
    let mut wrong = Wrong::new();
    let mut size = 0;
    for (name, value) in object.entries("parameters") {
        if name.is_empty() {
            wrong.push(FieldError::invalid("parameters", "", "field can not be empty."));
        }
        size += name.len() + value.as_str().map_or(0, str::len);
    }
    if size > MOST_BYTES_OF_PARAMETERS {
        wrong.push(FieldError::too_long("parameters", MOST_BYTES_OF_PARAMETERS));
    }
    wrong
}

pub(super) fn forbidden_changes(new: &Object, old: &Object, fields: &[&str]) -> Wrong {
    let changed = fields.iter().filter(|field| !same(new.at(field), old.at(field)));
    changed.map(|field| FieldError::forbidden(*field, format!("updates to {field} are forbidden."))).collect()
}
