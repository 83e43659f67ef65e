//! The effects of a stage. In KWOK: `lifecycle.doStageSteps`.

use std::sync::Arc;

use coracle_client::Patch;
use coracle_template::{Host, Template};
use coracle_yaml::{At, UnreadFields, YamlError};
use serde_json::{Value as Json, json};

use crate::expressions::functions::NAMES;
use crate::finalizers::Finalizers;
use crate::yaml::from_yaml;

/// One step of a stage; its parts are applied in the order of the fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct EffectStep {
    event: Option<StageEvent>,
    finalizers: Option<Finalizers>,
    deletes: bool,
    patch: Option<PatchStep>,
    apply: Option<ApplyStep>,
}

/// An Event of the API that a stage posts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StageEvent {
    /// `Normal` or `Warning`.
    pub(crate) event_type: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}

#[derive(Clone, Debug)]
struct PatchStep {
    subresource: String,
    root: String,
    template: Arc<Template>,
    form: Option<PatchType>,
    user: Option<String>,
}

#[derive(Clone, Debug)]
struct ApplyStep {
    subresource: String,
    template: Arc<Template>,
    form: PatchType,
    user: Option<String>,
}

/// The type of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

/// An effect with all templates evaluated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    Event(StageEvent),
    Delete,
    /// A patch of the object itself.
    Patch(StagePatch),
    /// A patch of the object that the body names; the object is created if it does not exist.
    Apply(StagePatch),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StagePatch {
    pub(crate) patch: Patch,
    /// The subresource; empty for the object itself.
    pub(crate) subresource: String,
    /// The user to impersonate; none for the stage runner's own identity.
    pub(crate) user: Option<String>,
}

impl EffectStep {
    pub(crate) fn read(place: &At<'_>) -> Result<Self, YamlError> {
        let mut fields = place.fields()?;
        let step = Self {
            event: fields.take("event").map(|place| StageEvent::read(&place)).transpose()?,
            finalizers: fields.take("finalizers").map(|place| Finalizers::read(&place)).transpose()?,
            deletes: fields.flag("delete")?,
            patch: fields.take("patch").map(|place| PatchStep::read(&place)).transpose()?,
            apply: fields.take("apply").map(|place| ApplyStep::read(&place)).transpose()?,
        };
        fields.end()?;
        Ok(step)
    }

    /// Reads the steps in the older form. In KWOK: `Convert_v1alpha1_StageSpec_To_internalversion_StageSpec`.
    pub(crate) fn read_next(place: &At<'_>) -> Result<Vec<Self>, YamlError> {
        let mut fields = place.fields()?;
        let first =
            Self { event: fields.take("event").map(|place| StageEvent::read(&place)).transpose()?, ..Self::default() };
        let finalizers = fields.take("finalizers").map(|place| Finalizers::read(&place)).transpose()?;
        let patches = fields.items("patches")?.iter().map(PatchStep::read).collect::<Result<Vec<_>, _>>()?;
        let status = PatchStep::read_status(&mut fields)?;
        let deletes = fields.flag("delete")?;
        fields.end()?;
        let patches = if patches.is_empty() { status.into_iter().collect() } else { patches };
        let mut steps = vec![first, Self { finalizers, ..Self::default() }];
        steps.extend(patches.into_iter().map(|patch| Self { patch: Some(patch), ..Self::default() }));
        steps.push(Self { deletes, ..Self::default() });
        Ok(steps)
    }
}

impl StageEvent {
    fn read(place: &At<'_>) -> Result<Self, YamlError> {
        let mut fields = place.fields()?;
        let event_type = fields.take("type");
        let word = event_type.as_ref().map_or(Ok("Normal"), |place| place.text())?.to_owned();
        if let Some(place) = event_type.filter(|_| !matches!(word.as_str(), "Normal" | "Warning")) {
            return Err(place.error(format!("{word:?} is neither Normal nor Warning")));
        }
        let event = Self { event_type: word, reason: fields.text("reason")?, message: fields.text("message")? };
        fields.end()?;
        Ok(event)
    }
}

impl PatchStep {
    fn read(place: &At<'_>) -> Result<Self, YamlError> {
        let mut fields = place.fields()?;
        let patch = Self {
            subresource: fields.text("subresource")?,
            root: fields.text("root")?,
            template: read_template(&fields.need("template")?)?,
            form: fields
                .take("type")
                .map(|place| PatchType::read(&place, &[PatchType::Json, PatchType::Merge, PatchType::Strategic]))
                .transpose()?,
            user: read_user(&mut fields, "impersonation")?,
        };
        fields.end()?;
        Ok(patch)
    }

    /// Reads `statusTemplate` and the fields that belong to it.
    fn read_status(fields: &mut UnreadFields<'_>) -> Result<Option<Self>, YamlError> {
        let template = fields.take("statusTemplate");
        let subresource = fields.take("statusSubresource");
        let user = read_user(fields, "statusPatchAs")?;
        let Some(template) = template else { return Ok(None) };
        let subresource = subresource.map_or(Ok("status"), |place| place.text())?.to_owned();
        let root = "status".to_owned();
        Ok(Some(Self { subresource, root, template: read_template(&template)?, form: None, user }))
    }

    fn change(&self, object: &Json, otherwise: PatchType, host: &dyn Host) -> Result<StagePatch, String> {
        let body = rendered(&self.template, object, host)?;
        let form = self.form.unwrap_or(otherwise);
        let body = match (form, self.root.as_str()) {
            (_, "") => body,
            (PatchType::Json, root) => below(body, root)?,
            (_, root) => json!({ root: body }),
        };
        Ok(StagePatch { patch: form.patch(body), subresource: self.subresource.clone(), user: self.user.clone() })
    }
}

impl ApplyStep {
    fn read(place: &At<'_>) -> Result<Self, YamlError> {
        let mut fields = place.fields()?;
        let form = fields
            .take("type")
            .map(|place| PatchType::read(&place, &[PatchType::Apply, PatchType::Merge, PatchType::Strategic]));
        let apply = Self {
            subresource: fields.text("subresource")?,
            template: read_template(&fields.need("template")?)?,
            form: form.transpose()?.unwrap_or(PatchType::Apply),
            user: read_user(&mut fields, "impersonation")?,
        };
        fields.end()?;
        Ok(apply)
    }

    fn change(&self, object: &Json, host: &dyn Host) -> Result<StagePatch, String> {
        let patch = self.form.patch(rendered(&self.template, object, host)?);
        Ok(StagePatch { patch, subresource: self.subresource.clone(), user: self.user.clone() })
    }
}

impl PatchType {
    const WORDS: [(&str, Self); 4] =
        [("json", Self::Json), ("merge", Self::Merge), ("strategic", Self::Strategic), ("apply", Self::Apply)];

    fn read(place: &At<'_>, allowed: &[Self]) -> Result<Self, YamlError> {
        let word = place.text()?;
        let allowed = || Self::WORDS.iter().filter(|(_, form)| allowed.contains(form));
        let found = allowed().find(|(known, _)| *known == word).map(|(_, form)| *form);
        found.ok_or_else(|| {
            let words: Vec<&str> = allowed().map(|(word, _)| *word).collect();
            place.error(format!("{word:?} is not one of {}", words.join(", ")))
        })
    }

    fn patch(self, body: Json) -> Patch {
        match self {
            Self::Json => Patch::Json(body),
            Self::Merge => Patch::Merge(body),
            Self::Strategic => Patch::Strategic(body),
            Self::Apply => Patch::Apply { object: body, force: true },
        }
    }
}

/// The effects of steps on an object; `otherwise` is the patch type of a patch that sets none.
pub(crate) fn effects(
    steps: &[EffectStep],
    object: &Json,
    otherwise: PatchType,
    host: &dyn Host,
) -> Result<Vec<Effect>, String> {
    let (mut effects, mut is_deleted) = (Vec::new(), false);
    for step in steps {
        effects.extend(step.event.clone().map(Effect::Event));
        if is_deleted {
            continue;
        }
        if let Some(operations) = step.finalizers.as_ref().and_then(|finalizers| finalizers.operations(object)) {
            effects.push(Effect::Patch(StagePatch {
                patch: Patch::Json(operations),
                subresource: String::new(),
                user: None,
            }));
        }
        if step.deletes {
            is_deleted = true;
            effects.push(Effect::Delete);
            continue;
        }
        if let Some(patch) = &step.patch {
            effects.push(Effect::Patch(patch.change(object, otherwise, host)?));
        }
        if let Some(apply) = &step.apply {
            effects.push(Effect::Apply(apply.change(object, host)?));
        }
    }
    Ok(effects)
}

fn rendered(template: &Template, object: &Json, host: &dyn Host) -> Result<Json, String> {
    let text = template.render(object, host).map_err(|error| error.to_string())?;
    from_yaml(&text)
}

/// The operations of a JSON patch, moved below a field.
fn below(operations: Json, root: &str) -> Result<Json, String> {
    let Json::Array(mut operations) = operations else { return Err("a JSON patch is a list".to_owned()) };
    for operation in &mut operations {
        if let Some(path) = operation.get_mut("path") {
            *path = format!("/{root}{}", path.as_str().unwrap_or_default()).into();
        }
    }
    Ok(Json::Array(operations))
}

fn read_template(place: &At<'_>) -> Result<Arc<Template>, YamlError> {
    let template = Template::parse(place.text()?.trim(), NAMES);
    template.map(Arc::new).map_err(|error| place.error(format!("template: {error}")))
}

fn read_user(fields: &mut UnreadFields<'_>, name: &str) -> Result<Option<String>, YamlError> {
    let Some(place) = fields.take(name) else { return Ok(None) };
    let mut fields = place.fields()?;
    let user = fields.need("username")?.text()?.to_owned();
    fields.end()?;
    Ok(Some(user))
}
