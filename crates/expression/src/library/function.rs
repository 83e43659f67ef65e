use crate::fault::Fault;
use crate::meter::Meter;
use crate::value::Value;

/// A function: takes the values of its arguments, the receiver of a method first.
pub(crate) type Function = for<'v> fn(&[Value<'v>], &mut Meter) -> Result<Value<'v>, Fault>;
