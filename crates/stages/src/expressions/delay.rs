//! How long a stage waits. In KWOK: `StageDelay`.

use coracle_ambient::{Random, SignedDuration, Timestamp};
use coracle_yaml::{At, UnreadFields, YamlError};
use serde_json::Value as Json;

use crate::expressions::value_from::{ExpressionResult, ValueFrom};

/// A time to wait, and an upper bound for its jitter.
#[derive(Clone, Debug)]
pub(crate) struct Delay {
    duration: Length,
    jitter: Option<Length>,
}

#[derive(Clone, Debug)]
struct Length {
    value: Option<SignedDuration>,
    from: Option<ValueFrom>,
}

impl Delay {
    pub(crate) fn read(place: &At<'_>) -> Result<Self, YamlError> {
        let mut fields = place.fields()?;
        let mut duration = Length::read(&mut fields, "durationMilliseconds", "durationFrom")?;
        duration.value.get_or_insert_default();
        let jitter = Length::read(&mut fields, "jitterDurationMilliseconds", "jitterDurationFrom")?;
        fields.end()?;
        let jitter = (jitter.value.is_some() || jitter.from.is_some()).then_some(jitter);
        Ok(Self { duration, jitter })
    }

    /// The bounds of the delay: one value without jitter, none without a delay.
    pub(crate) fn range(&self, object: &Json, now: Timestamp) -> Result<Vec<SignedDuration>, String> {
        let Some(duration) = self.duration.of(object, now)? else { return Ok(Vec::new()) };
        let jitter = self.jitter.as_ref().map_or(Ok(None), |jitter| jitter.of(object, now))?;
        Ok(match jitter {
            None => vec![duration],
            Some(jitter) if jitter <= duration => vec![jitter],
            Some(jitter) => vec![duration, jitter],
        })
    }

    /// A random delay within the bounds.
    pub(crate) fn draw(
        &self,
        object: &Json,
        now: Timestamp,
        random: impl FnOnce() -> Random,
    ) -> Result<SignedDuration, String> {
        Ok(match self.range(object, now)?.as_slice() {
            [] => SignedDuration::ZERO,
            [at] => *at,
            [from, to, ..] => {
                let span = u64::try_from(to.saturating_sub(*from).as_nanos()).unwrap_or(u64::MAX);
                let more = i64::try_from(random().below(span.max(1))).unwrap_or(i64::MAX);
                from.saturating_add(SignedDuration::from_nanos(more))
            }
        })
    }
}

impl Length {
    fn read(fields: &mut UnreadFields<'_>, value: &str, from: &str) -> Result<Self, YamlError> {
        let value = fields.take(value).map(|place| place.count().map(SignedDuration::from_millis)).transpose()?;
        let from = fields.take(from).map(|place| ValueFrom::read(&place)).transpose()?;
        Ok(Self { value, from })
    }

    fn of(&self, object: &Json, now: Timestamp) -> Result<Option<SignedDuration>, String> {
        Ok(match self.from.as_ref().map_or(Ok(ExpressionResult::Nothing), |from| from.duration(object, now))? {
            ExpressionResult::Value(duration) => Some(duration),
            ExpressionResult::None => None,
            ExpressionResult::Nothing => self.value,
        })
    }
}
