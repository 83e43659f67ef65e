//! Numbers. In sprig: `numeric.go`.

use super::{CallArguments, Function, text};
use crate::number::{real, whole, whole_of};
use crate::value::Value;

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("int", |call| call.exactly().map(|[value]| Value::Int(whole(&value)))),
    ("int64", |call| call.exactly().map(|[value]| Value::Int(whole(&value)))),
    ("float64", |call| call.exactly().map(|[value]| Value::Float(real(&value)))),
    ("atoi", |call| {
        let [value] = call.exactly()?;
        Ok(Value::Int(text(&value)?.parse().unwrap_or_default()))
    }),
    ("toDecimal", |call| {
        let [value] = call.exactly()?;
        Ok(Value::Int(whole_of(&format!("0o{}", crate::show::shown(&value))).unwrap_or_default()))
    }),
    ("add1", |call| call.exactly().map(|[value]| Value::Int(whole(&value).wrapping_add(1)))),
    ("add", |call| Ok(Value::Int(call.values.iter().map(whole).fold(0, i64::wrapping_add)))),
    ("mul", |call| fold(call, |one, other| Ok(one.wrapping_mul(other)))),
    ("sub", |call| two(call, |one, other| Ok(one.wrapping_sub(other)))),
    ("div", |call| two(call, |one, other| if other == 0 { by_zero() } else { Ok(one.wrapping_div(other)) })),
    ("mod", |call| two(call, |one, other| if other == 0 { by_zero() } else { Ok(one.wrapping_rem(other)) })),
    ("max", |call| fold(call, |one, other| Ok(one.max(other)))),
    ("min", |call| fold(call, |one, other| Ok(one.min(other)))),
    ("addf", |call| real_fold(call, |one, other| one + other)),
    ("subf", |call| real_fold(call, |one, other| one - other)),
    ("mulf", |call| real_fold(call, |one, other| one * other)),
    ("divf", |call| real_fold(call, |one, other| one / other)),
    ("maxf", |call| real_fold(call, f64::max)),
    ("minf", |call| real_fold(call, f64::min)),
    ("floor", |call| call.exactly().map(|[value]| Value::Float(real(&value).floor()))),
    ("ceil", |call| call.exactly().map(|[value]| Value::Float(real(&value).ceil()))),
    ("round", |call| {
        let ([value, places], _) = call.at_least()?;
        let scale = 10_f64.powi(i32::try_from(whole(&places)).unwrap_or_default());
        Ok(Value::Float((real(&value) * scale).round() / scale))
    }),
];

fn by_zero() -> Result<i64, String> {
    Err("integer divide by zero".to_owned())
}

fn two<'d>(call: CallArguments<'d>, make: impl Fn(i64, i64) -> Result<i64, String>) -> Result<Value<'d>, String> {
    let [one, other] = call.exactly()?;
    make(whole(&one), whole(&other)).map(Value::Int)
}

fn fold<'d>(call: CallArguments<'d>, make: impl Fn(i64, i64) -> Result<i64, String>) -> Result<Value<'d>, String> {
    let ([first], others) = call.at_least()?;
    others.iter().try_fold(whole(&first), |one, other| make(one, whole(other))).map(Value::Int)
}

fn real_fold<'d>(call: CallArguments<'d>, make: impl Fn(f64, f64) -> f64) -> Result<Value<'d>, String> {
    let ([first], others) = call.at_least()?;
    Ok(Value::Float(others.iter().fold(real(&first), |one, other| make(one, real(other)))))
}
