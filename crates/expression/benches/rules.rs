//! What rules cost in time: `cargo bench -p coracle-expression --bench rules`.
//!
//! ```text
//! 20 rules, as projects publish them, on one object of 3 KB, typed by its schema
//! ```
//! Each rule is compiled once. The figure is the time for all twenty, of the fastest, the middle and the slowest round.

use std::sync::Arc;
use std::time::Instant;

use coracle_expression::{
    COST_OF_ONE_EXPRESSION, Environment, Expression, Object, Order, Schema, SchemaField, Shape, Variables,
};
use serde_json::{Value, json};

const ROUNDS: usize = 2_000;
const RULES: [&str; 20] = [
    "self.replicas >= 0",
    "self.replicas <= self.maxReplicas",
    "!has(self.minReplicas) || self.minReplicas <= self.replicas",
    "has(self.name) && self.name.size() <= 63",
    "self.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
    "self.name.startsWith('app-') || self.name == 'default'",
    "self.image.contains(':') && !self.image.endsWith(':latest')",
    "self.image.split('/').size() <= 4",
    "self.ports.all(p, p.number > 0 && p.number < 65536)",
    "self.ports.exists_one(p, p.name == 'http')",
    "self.ports.map(p, p.number).all(n, n != 22)",
    "self.ports.all(p, p.protocol in ['TCP', 'UDP', 'SCTP'])",
    "self.labels.all(k, k.size() < 64 && self.labels[k].size() < 64)",
    "'team' in self.labels && self.labels['team'] != ''",
    "self.hosts.all(h, h.endsWith('.example.com'))",
    "self.hosts.filter(h, h.startsWith('www.')).size() <= 1",
    "quantity(self.memory).isLessThan(quantity('64Gi'))",
    "duration(self.timeout) < duration('1h')",
    "self.kind == 'Stateless' ? !has(self.volume) : self.replicas > 0",
    "self.hosts.map(h, h.size()).sum() < 2000",
];

#[expect(clippy::disallowed_methods, reason = "a benchmark is about the time that passes outside")]
fn main() {
    let (schema, own) = (Arc::new(schema()), object());
    let environment = Environment::new().with("self", schema.as_type());
    let rules: Vec<Expression> =
        RULES.iter().map(|text| Expression::compile_in(text, &environment).expect("a rule")).collect();
    let mut variables = Variables::default();
    variables.set_typed("self", &own, &schema);
    let mut rounds = Vec::with_capacity(ROUNDS);
    let mut cost = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        cost = 0;
        for rule in &rules {
            let run = rule.decide(&variables, COST_OF_ONE_EXPRESSION);
            assert_eq!(run.result, Ok(true), "{}", rule.text());
            cost += run.cost;
        }
        rounds.push(start.elapsed());
    }
    rounds.sort_unstable();
    println!("{} rules on an object of {} bytes, {cost} units of cost", RULES.len(), own.to_string().len());
    for (name, at) in [("fastest", 0), ("median", ROUNDS / 2), ("slowest", ROUNDS - 1)] {
        println!("{name:>8}: {:>8.1} us", rounds[at].as_secs_f64() * 1e6);
    }
}

fn object() -> Value {
    let ports: Vec<Value> = (0..16)
        .map(|at| {
            let name = if at == 0 { "http".to_owned() } else { format!("port-{at}") };
            json!({"name": name, "number": 8000 + at, "protocol": "TCP"})
        })
        .collect();
    let hosts: Vec<String> = (0..24).map(|at| format!("host-number-{at}.of.some.team.example.com")).collect();
    let labels: serde_json::Map<String, Value> = (0..12)
        .map(|at| (format!("example.com/label-{at}"), format!("value-{at}").into()))
        .chain([("team".to_owned(), "boats".into())])
        .collect();
    json!({
        "replicas": 3, "maxReplicas": 10, "minReplicas": 1, "name": "app-frontend", "kind": "Stateless",
        "image": "registry.example.com/team/app:v1.2.3", "memory": "2Gi", "timeout": "30s",
        "ports": ports, "hosts": hosts, "labels": labels
    })
}

fn schema() -> Schema {
    let plain = |shape: Shape| Schema::new(shape);
    let list = |items: Schema| plain(Shape::List(Arc::new(items), Order::Fixed));
    let port = [("name", plain(Shape::String)), ("number", plain(Shape::Int)), ("protocol", plain(Shape::String))];
    let mut fields = vec![
        ("ports", list(record("port", port.into()))),
        ("hosts", list(plain(Shape::String))),
        ("labels", plain(Shape::Map(Arc::new(plain(Shape::String))))),
    ];
    fields.extend(["replicas", "maxReplicas", "minReplicas"].map(|name| (name, plain(Shape::Int))));
    fields.extend(["name", "kind", "image", "memory", "timeout", "volume"].map(|name| (name, plain(Shape::String))));
    record("self", fields)
}

fn record(name: &str, fields: Vec<(&str, Schema)>) -> Schema {
    let fields = fields.into_iter().map(|(key, schema)| {
        (key.to_owned(), SchemaField { key: key.to_owned(), schema: Arc::new(schema), is_required: false })
    });
    plain_object(Object { name: name.to_owned(), fields: fields.collect() })
}

fn plain_object(object: Object) -> Schema {
    Schema::new(Shape::Object(object))
}
