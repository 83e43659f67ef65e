use std::collections::{BTreeMap, BTreeSet};

use coracle_api::pod_resources::amounts;
use coracle_meta::fields::Fields;
use coracle_meta::{FieldError, Object, Quantity, names};
use coracle_registry::KindSpec;
use coracle_release::Release;
use serde_json::Value;

use crate::built_in::built_in;
use crate::field_checks::{Wrong, each_invalid};
use crate::pod_spec::{may_overcommit, name_of_container, name_of_resource};

/// `limitranges`. In Kubernetes: `pkg/registry/core/limitrange`.
pub(crate) fn kind(release: &Release) -> KindSpec {
    KindSpec {
        validate: |object, _| wrong(object),
        is_named_by_uuid: true,
        ..built_in(release, "", "v1", "limitranges")
    }
}

/// In Kubernetes: `ValidateLimitRange`.
fn wrong(object: &Object) -> Wrong {
    let limits = object.list("spec.limits");
    let mut wrong = Wrong::new();
    let mut seen = BTreeSet::new();
    for (at, limit) in limits.iter().enumerate() {
        let path = format!("spec.limits[{at}]");
        let kind = limit.text("type");
        wrong.extend(wrong_type(kind, &format!("{path}.type")));
        if !seen.insert(kind) {
            wrong.push(FieldError::duplicate(format!("{path}.type"), kind));
        }
        wrong.extend(Bounds::of(limit).wrong(kind, &path));
    }
    wrong
}

fn wrong_type(kind: &str, path: &str) -> Wrong {
    let wrong = each_invalid(path, kind, names::qualified_name(kind));
    if wrong.is_empty() && !kind.contains('/') && !matches!(kind, "Pod" | "Container" | "PersistentVolumeClaim") {
        return vec![FieldError::invalid(path, kind, "must be a standard limit type or fully qualified")];
    }
    wrong
}

/// The five lists of a limit.
struct Bounds {
    lists: BTreeMap<&'static str, BTreeMap<String, Quantity>>,
}

const LISTS: [&str; 5] = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];

impl Bounds {
    fn of(limit: &Value) -> Self {
        Self { lists: LISTS.iter().map(|list| (*list, amounts(limit.at(list)))).collect() }
    }

    fn wrong(mut self, kind: &str, path: &str) -> Wrong {
        let mut wrong = Wrong::new();
        let check = if matches!(kind, "Pod" | "Container") { name_of_container } else { name_of_resource };
        for list in LISTS {
            if kind == "Pod" && list.starts_with("default") {
                if self.lists.insert(list, BTreeMap::new()).is_some_and(|amounts| !amounts.is_empty()) {
                    let what = "may not be specified when `type` is 'Pod'";
                    wrong.push(FieldError::forbidden(format!("{path}.{list}"), what));
                }
                continue;
            }
            let bounds_storage = ["min", "max"].iter().any(|list| self.lists[list].contains_key("storage"));
            if kind == "PersistentVolumeClaim" && list == "maxLimitRequestRatio" && !bounds_storage {
                let what = "either minimum or maximum storage value is required, but neither was provided";
                wrong.push(FieldError::required(format!("{path}.limits"), what));
            }
            for name in self.lists[list].keys() {
                wrong.extend(check(name, &format!("{path}.{list}[{name}]")));
            }
        }
        let names: BTreeSet<&String> = self.lists.values().flat_map(BTreeMap::keys).collect();
        names.into_iter().for_each(|name| wrong.extend(self.wrong_of(name, path)));
        wrong
    }

    /// The errors in the relation between the amounts of one resource.
    fn wrong_of(&self, name: &str, path: &str) -> Wrong {
        let amount = |list: &str| self.lists[list].get(name).copied();
        let [max, min, default, request, ratio] = LISTS.map(amount);
        let mut wrong = Wrong::new();
        // The lower value, the upper value, the list in the error, the shown value, and the message.
        let mut order =
            |low: Option<Quantity>, high: Option<Quantity>, list: &str, shows_low: bool, what: [&str; 2]| {
                if let (Some(low), Some(high)) = (low, high)
                    && low > high
                {
                    let shown = if shows_low { low } else { high };
                    let what = format!("{} value {low} is greater than {} value {high}", what[0], what[1]);
                    wrong.push(FieldError::invalid(format!("{path}.{list}[{name}]"), shown.to_string(), what));
                }
            };
        order(min, max, "min", true, ["min", "max"]);
        order(min, request, "defaultRequest", false, ["min", "default request"]);
        order(request, max, "defaultRequest", true, ["default request", "max"]);
        order(request, default, "defaultRequest", true, ["default request", "default limit"]);
        order(min, default, "default", true, ["min", "default"]);
        order(default, max, "default", false, ["default", "max"]);
        if let Some(ratio) = ratio {
            wrong.extend(wrong_ratio(ratio, min, max, &format!("{path}.maxLimitRequestRatio[{name}]")));
        }
        if let (Some(default), Some(request)) = (default, request)
            && default != request
            && !may_overcommit(name)
        {
            let what = format!("default value {default} must equal to defaultRequest value {request} in {name}");
            wrong.push(FieldError::invalid(format!("{path}.defaultRequest[{name}]"), request.to_string(), what));
        }
        wrong
    }
}

fn wrong_ratio(ratio: Quantity, min: Option<Quantity>, max: Option<Quantity>, path: &str) -> Wrong {
    let mut wrong = Wrong::new();
    if ratio < Quantity::of(1) {
        wrong.push(FieldError::invalid(path, ratio.to_string(), format!("ratio {ratio} is less than 1")));
    }
    if let (Some(min), Some(max)) = (min, max) {
        #[expect(clippy::cast_precision_loss, reason = "Kubernetes compares these as floats, too")]
        let most = max.milli_value() as f64 / min.milli_value() as f64;
        #[expect(clippy::cast_precision_loss, reason = "Kubernetes compares these as floats, too")]
        let asked = ratio.milli_value() as f64 / 1000.0;
        if asked > most {
            let what = format!("ratio {ratio} is greater than max/min = {most:.6}");
            wrong.push(FieldError::invalid(path, ratio.to_string(), what));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(limit: Value) -> Vec<String> {
        let object = Object::from_value(json!({"spec": {"limits": [limit]}})).unwrap();
        wrong(&object).iter().map(FieldError::message).collect()
    }

    #[test]
    fn a_default_stands_between_its_bounds() {
        let limit = json!({"type": "Container", "min": {"cpu": "100m"}, "max": {"cpu": "1"},
            "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "200m"}, "maxLimitRequestRatio": {"cpu": "10"}});
        assert!(messages(limit.clone()).is_empty());
        let mut low = limit.clone();
        low["max"]["cpu"] = "300m".into();
        assert_eq!(
            messages(low),
            [
                "spec.limits[0].default[cpu]: Invalid value: \"300m\": default value 500m is greater than max value 300m",
                "spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: \"10\": ratio 10 is greater than max/min = 3.000000",
            ]
        );
    }

    #[test]
    fn a_limit_of_pods_has_no_defaults_and_one_of_claims_bounds_storage() {
        let said = messages(json!({"type": "Pod", "default": {"cpu": "1"}}));
        assert_eq!(said, ["spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"]);
        assert_eq!(messages(json!({"type": "PersistentVolumeClaim"})).len(), 1);
        assert_eq!(messages(json!({"type": "Thing"})).len(), 1);
    }
}
