//! The environment of device selectors. In Kubernetes: `dynamic-resource-allocation/cel`.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value as Json};

use crate::environment::Environment;
use crate::expression::{Error, Expression};
use crate::schema::{Object, Schema, SchemaField, Shape};
use crate::variables::Variables;

const LONGEST_DRIVER: u64 = 63;
const LONGEST_DOMAIN: u64 = 63;
const LONGEST_IDENTIFIER: u64 = 32;
const LONGEST_VALUE: u64 = 64;
const MOST_ATTRIBUTES: u64 = 32;
/// The maximum cost of one selector for one device. In Kubernetes: `CELSelectorExpressionMaxCost`.
const GREATEST_COST: u64 = 1_000_000;

/// The schema of `device`: the driver, and attributes and capacities by domain and name.
static DEVICE: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let text = |longest| Schema::new(Shape::String).with_longest(longest);
    let map = |values, longest_key| {
        let shape = Shape::Map(Arc::new(values));
        Schema::new(shape).with_longest(MOST_ATTRIBUTES).with_longest_key(longest_key)
    };
    let by_domain = |values| map(map(values, LONGEST_IDENTIFIER), LONGEST_DOMAIN);
    let attributes = by_domain(Schema::new(Shape::Any).with_longest(LONGEST_VALUE));
    Arc::new(device_of(text(LONGEST_DRIVER), attributes, by_domain(Schema::new(Shape::Quantity))))
});

fn device_of(driver: Schema, attributes: Schema, capacity: Schema) -> Schema {
    object("kubernetes.DRADevice", [("driver", driver), ("attributes", attributes), ("capacity", capacity)])
}

fn object<N: Into<String>>(name: &str, fields: impl IntoIterator<Item = (N, Schema)>) -> Schema {
    let field = |(name, schema): (N, Schema)| {
        let key: String = name.into();
        (key.clone(), SchemaField { key, schema: Arc::new(schema), is_required: true })
    };
    let fields = fields.into_iter().map(field).collect();
    Schema::new(Shape::Object(Object { name: name.to_owned(), fields }))
}

/// The schema of devices, with size limits.
pub fn device_schema() -> &'static Schema {
    &DEVICE
}

/// The variables of device selectors.
pub fn device_environment() -> Environment {
    Environment::new().with("device", DEVICE.as_type()).with_bindings()
}

/// An attribute of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute<'a> {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A string.
    Text(&'a str),
    /// A semantic version.
    Version(&'a str),
}

/// A device for expressions.
#[derive(Debug)]
pub struct Device {
    json: Json,
    schema: Schema,
}

impl Device {
    /// With its attributes and capacities by name; a name without a domain and a slash belongs to the driver's
    /// domain.
    pub fn new<'a>(
        driver: &str,
        attributes: impl IntoIterator<Item = (&'a str, Attribute<'a>)>,
        capacity: impl IntoIterator<Item = (&'a str, String)>,
    ) -> Self {
        let read = attributes.into_iter().map(|(name, attribute)| match attribute {
            Attribute::Bool(value) => (name, Json::from(value), Shape::Any),
            Attribute::Int(value) => (name, Json::from(value), Shape::Any),
            Attribute::Text(text) => (name, Json::from(text), Shape::Any),
            Attribute::Version(text) => (name, Json::from(text), Shape::Semver),
        });
        let (attributes, attributes_as) = by_domain(driver, read);
        let amounts = capacity.into_iter().map(|(name, amount)| (name, Json::from(amount), Shape::Quantity));
        let (capacity, capacity_as) = by_domain(driver, amounts);
        let json = [("driver", Json::from(driver)), ("attributes", attributes), ("capacity", capacity)];
        Self {
            json: Json::Object(json.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
            schema: device_of(Schema::new(Shape::String), attributes_as, capacity_as),
        }
    }

    /// Whether an expression selects it.
    ///
    /// # Errors
    /// A runtime error, such as a missing attribute.
    pub fn is_chosen_by(&self, expression: &Expression) -> Result<bool, Error> {
        let mut variables = Variables::default();
        variables.set_typed("device", &self.json, &self.schema);
        expression.decide(&variables, GREATEST_COST).result
    }
}

/// Values by name, and their schemas.
type Domain = (Map<String, Json>, Vec<(String, Schema)>);

/// The values by domain and name, and their schemas. A domain without values is empty.
fn by_domain<'a>(driver: &str, values: impl Iterator<Item = (&'a str, Json, Shape)>) -> (Json, Schema) {
    let mut domains: BTreeMap<String, Domain> = BTreeMap::new();
    for (name, value, shape) in values {
        let (domain, name) = name.split_once('/').unwrap_or((driver, name));
        let (json, fields) = domains.entry(domain.to_owned()).or_default();
        json.insert(name.to_owned(), value);
        fields.push((name.to_owned(), Schema::new(shape)));
    }
    let mut json = Map::new();
    let mut fields = Vec::new();
    for (domain, (values, schemas)) in domains {
        json.insert(domain.clone(), Json::Object(values));
        fields.push((domain, object("", schemas)));
    }
    (Json::Object(json), object("", fields).with_empty_maps_for_missing())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_see_what_devices_say_in_its_own_type() {
        let attributes = [
            ("model", Attribute::Text("a100")),
            ("ecc", Attribute::Bool(true)),
            ("index", Attribute::Int(3)),
            ("version", Attribute::Version("1.10.0")),
            ("other.example.com/model", Attribute::Text("b")),
        ];
        let device = Device::new("gpu.example.com", attributes, [("memory", "40Gi".to_owned())]);
        let chosen = |text: &str| {
            let expression = Expression::compile_in(text, &device_environment()).unwrap();
            device.is_chosen_by(&expression).map_err(|error| error.to_string())
        };
        for holds in [
            r#"device.driver == "gpu.example.com""#,
            r#"device.attributes["gpu.example.com"].model == "a100" && device.attributes["gpu.example.com"].ecc"#,
            r#"device.attributes["gpu.example.com"].index == 3"#,
            r#"device.attributes["gpu.example.com"].version.isGreaterThan(semver("1.9.0"))"#,
            r#"device.attributes["other.example.com"].model == "b""#,
            r#"device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) == 0"#,
            r#"!("nobody.example.com" in device.attributes)"#,
            r#"!("memory" in device.capacity["nobody.example.com"])"#,
        ] {
            assert_eq!(chosen(holds), Ok(true), "{holds}");
        }
        assert_eq!(
            chosen(r#"device.attributes["nobody.example.com"].model == "a""#).unwrap_err(),
            "no such key: model"
        );
    }
}
