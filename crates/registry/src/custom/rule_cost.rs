use coracle_meta::FieldError;
use coracle_schema::structural::{Structural, ValueType};

/// The maximum estimated cost of one expression. In Kubernetes: `StaticEstimatedCostLimit`.
const LIMIT_OF_ONE: u64 = 10_000_000;
/// The maximum estimated cost of all rules of a version. In Kubernetes: `StaticEstimatedCRDCostLimit`.
const LIMIT_OF_ALL: u64 = 100_000_000;
/// The maximum number of named rules.
const MOST_NAMED: usize = 4;

/// The maximum number of occurrences of a schema in an object; `None` if it is unlimited.
/// In Kubernetes: `CELSchemaContext.MaxCardinality`.
pub(super) type Cardinality = Option<u64>;

/// The estimated costs of the expressions of one version. In Kubernetes: `TotalCost`.
#[derive(Debug, Default)]
pub(super) struct Costs {
    total: u64,
    /// The most expensive expressions, in descending order.
    dearest: Vec<(String, u64)>,
    /// Whether single expressions have no limit, because they were accepted before.
    is_lenient: bool,
}

impl Costs {
    pub(super) fn new(is_lenient: bool) -> Self {
        Self { is_lenient, ..Self::default() }
    }

    /// Adds an expression at a path; `Some` if it alone exceeds the limit.
    pub(super) fn add(&mut self, path: &str, what: &str, cost: u64) -> Option<FieldError> {
        self.total = self.total.saturating_add(cost);
        if cost >= LIMIT_OF_ALL / 100 {
            self.dearest.push((path.to_owned(), cost));
            self.dearest.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
            self.dearest.truncate(MOST_NAMED);
        }
        let is_too_much = cost > LIMIT_OF_ONE && !self.is_lenient;
        is_too_much.then(|| FieldError::forbidden(path, exceeded(what, cost, LIMIT_OF_ONE)))
    }

    /// The errors of the total cost.
    pub(super) fn errors(&self, path: &str) -> Vec<FieldError> {
        if self.total <= LIMIT_OF_ALL {
            return Vec::new();
        }
        let contributed = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        let single = self.dearest.iter().map(|(path, _)| FieldError::forbidden(path.as_str(), contributed));
        single.chain([FieldError::forbidden(path, exceeded(what, self.total, LIMIT_OF_ALL))]).collect()
    }
}

/// The cardinality of values below a schema, given that of the schema.
pub(super) fn below(cardinality: Cardinality, schema: &Structural) -> Cardinality {
    let limits = &schema.constraints;
    let most = match schema.value_type {
        Some(ValueType::Object) if schema.additional.is_said() => limits.max_properties?,
        Some(ValueType::Array) => limits.max_items?,
        _ => 1,
    };
    Some(cardinality?.saturating_mul(most))
}

/// In Kubernetes: `getCostErrorMessage`.
fn exceeded(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_may_cost_ten_million_and_all_of_them_a_hundred_million() {
        let mut costs = Costs::default();
        assert_eq!(costs.add("a", "estimated rule cost", LIMIT_OF_ONE), None);
        for (cost, factor) in [(LIMIT_OF_ONE + 1, "1.000000x"), (21_000_000, "2.1x"), (u64::MAX, "more than 100x")] {
            let error = Costs::default().add("a", "estimated rule cost", cost).unwrap();
            assert!(error.message().contains(&format!("exceeds budget by factor of {factor} (try")), "{error:?}");
        }
        for path in ["b", "c", "d", "e", "f", "g", "h", "i"] {
            costs.add(path, "estimated rule cost", LIMIT_OF_ONE);
        }
        assert_eq!(costs.errors("all"), []);
        costs.add("dearest", "estimated rule cost", LIMIT_OF_ONE + 1);
        costs.add("cheap", "estimated rule cost", 1);
        let fields: Vec<_> = costs.errors("all").iter().map(|error| error.field.clone()).collect();
        assert_eq!(fields, ["dearest", "a", "b", "c", "all"]);
    }

    #[test]
    fn previously_accepted_rules_count_only_for_the_total_cost() {
        let mut costs = Costs::new(true);
        assert_eq!(costs.add("a", "estimated rule cost", u64::MAX), None);
        assert_eq!(costs.errors("all").len(), 2);
    }
}
