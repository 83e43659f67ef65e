use crate::rules::Rules;

/// `limitranges`. In Kubernetes: `pkg/registry/core/limitrange`.
pub(crate) const LIMIT_RANGE: Rules = Rules::of("", "v1", "limitranges");
