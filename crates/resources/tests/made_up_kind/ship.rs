//! A kind in one file: ships, which have masts and sails.

use std::sync::Arc;

use coracle_meta::{FieldError, GroupVersionKind, GroupVersionResource, Object};
use coracle_registry::{KindSpec, Offers, Scale, SelectorForm, Subresource, TableColumn};
use coracle_release::Release;
use coracle_schema::{KindSchema, Table};

/// The types of the kind, and below them its row, as the data of a release have those of Kubernetes.
const TYPES: &str = "\
package example.harbour.v1
type Ship kinds=harbour.example/v1/Ship
 kind string -
 apiVersion string -
 metadata io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta 1 always
 spec ShipSpec 2 always
type ShipSpec
 replicas int32 1 given
 sails string 2
";
const ROW: &str = "harbour.example/v1 ships Ship namespaced generation unconditional-update\n scale get,patch,update autoscaling/v1/Scale\n";

/// `ships.harbour.example`.
pub(crate) fn kind() -> KindSpec {
    let (types, rows) = (Release::default().types(), ROW);
    let table = Arc::new(Table::from_text(&format!("{types}{TYPES}"), rows).expect("a table"));
    let row = table.resource(&GroupVersionResource::new("harbour.example", "v1", "ships")).expect("a row").clone();
    let schema: KindSchema = table.kind(&GroupVersionKind::new("harbour.example", "v1", "Ship")).expect("a type");
    KindSpec {
        set_defaults: |ship, _| {
            if ship.number("spec.replicas").is_none() {
                ship.set("spec.replicas", 2);
            }
        },
        validate: |object, _| wrong(object),
        columns: vec![
            TableColumn::name(),
            TableColumn::integer("Masts", "How many masts the ship has.", |ship| {
                ship.number("spec.replicas").unwrap_or(0).into()
            }),
            TableColumn::text("Sails", "What hangs on them.", |ship| ship.text("spec.sails").into()).wide(),
        ],
        subresources: vec![Subresource::Projection(Arc::new(Scale::of_replicas(SelectorForm::LabelSelector)))],
        ..KindSpec::new(&Release::default(), row, schema, Offers::built_in(usize::MAX))
    }
}

fn wrong(ship: &Object) -> Vec<FieldError> {
    let masts = ship.number("spec.replicas").unwrap_or(0);
    let has_none = masts < 1;
    has_none.then(|| FieldError::invalid("spec.replicas", masts, "a ship needs a mast")).into_iter().collect()
}
