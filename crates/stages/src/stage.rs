//! A parsed Stage. In KWOK: `v1alpha1.Stage`, `lifecycle.Stage`.

use coracle_meta::{GroupVersion, GroupVersionKind, Object};
use coracle_yaml::{At, UnreadFields, YamlError, YamlNode};
use serde_json::Value as Json;

use crate::effect::EffectStep;
use crate::expressions::delay::Delay;
use crate::expressions::selector::Selector;
use crate::expressions::value_from::{ExpressionResult, ValueFrom};

/// The API version of Stages.
pub(crate) const API_VERSION: &str = "kwok.x-k8s.io/v1alpha1";

/// One transition of the objects of a kind.
#[derive(Clone, Debug)]
pub struct Stage {
    name: String,
    kind: GroupVersionKind,
    /// A stage without a selector matches no object.
    selector: Option<Selector>,
    weight: i64,
    weight_from: Option<ValueFrom>,
    pub(crate) delay: Option<Delay>,
    pub(crate) steps: Vec<EffectStep>,
    pub(crate) is_immediate: bool,
}

impl Stage {
    /// Parses an object of the API.
    pub fn of_object(object: &Object) -> Result<Self, YamlError> {
        Self::read(&YamlNode::from(object.as_value()))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind of the objects that it matches.
    pub fn kind(&self) -> &GroupVersionKind {
        &self.kind
    }

    pub(crate) fn read(document: &YamlNode) -> Result<Self, YamlError> {
        let mut fields = At::root(document).fields()?;
        for (name, expected) in [("kind", "Stage"), ("apiVersion", API_VERSION)] {
            let place = fields.need(name)?;
            if place.text()? != expected {
                return Err(place.error(format!("must be {expected}, not {}", place.text()?)));
            }
        }
        let mut metadata = fields.need("metadata")?.fields()?;
        let name = metadata.need("name")?.text()?.to_owned();
        // The API server adds it; it does not affect the stage.
        fields.take("status");
        let spec = fields.need("spec")?;
        fields.end()?;
        Self::read_spec(name, spec.fields()?)
    }

    fn read_spec(name: String, mut spec: UnreadFields<'_>) -> Result<Self, YamlError> {
        let kind = read_kind(&spec.need("resourceRef")?)?;
        let selector = spec.take("selector").map(|place| Selector::read(&place)).transpose()?;
        let weight = spec.take("weight").map_or(Ok(0), |place| place.count())?;
        let weight_from = spec.take("weightFrom").map(|place| ValueFrom::read(&place)).transpose()?;
        let delay = spec.take("delay").map(|place| Delay::read(&place)).transpose()?;
        let is_immediate = spec.flag("immediateNextStage")?;
        let next = spec.take("next").map_or(Ok(Vec::new()), |place| EffectStep::read_next(&place))?;
        let steps = spec.items("steps")?.iter().map(EffectStep::read).collect::<Result<Vec<_>, _>>()?;
        spec.end()?;
        let steps = if steps.is_empty() { next } else { steps };
        Ok(Self { name, kind, selector, weight, weight_from, delay, steps, is_immediate })
    }

    pub(crate) fn matches(&self, object: &Json) -> bool {
        self.selector.as_ref().is_some_and(|selector| selector.matches(object))
    }

    /// Its weight among the stages that match; none if an expression on the object removes it.
    pub(crate) fn weight(&self, object: &Json) -> Result<Option<i64>, String> {
        Ok(match self.weight_from.as_ref().map_or(Ok(ExpressionResult::Nothing), |from| from.number(object))? {
            ExpressionResult::Value(weight) => Some(weight),
            ExpressionResult::None => None,
            ExpressionResult::Nothing => Some(self.weight),
        })
    }
}

fn read_kind(place: &At<'_>) -> Result<GroupVersionKind, YamlError> {
    let mut fields = place.fields()?;
    let group = fields.take("apiGroup");
    let kind = fields.need("kind")?.text()?.to_owned();
    fields.end()?;
    let version = match &group {
        Some(place) => {
            GroupVersion::parse(place.text()?).ok_or_else(|| place.error("must be a group and its version"))?
        }
        None => GroupVersion::new("", "v1"),
    };
    Ok(version.kind(kind))
}
