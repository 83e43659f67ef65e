#![no_main]

use coracle_expression::{Expression, Variables};

// No text makes the parser, the checker or the machine panic, or cost more than one step beyond the limit.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(expression) = Expression::compile(text) else { return };
    let own = serde_json::json!({"list": [1, 2.5, "three", null, {"a": [true]}], "text": "ä b", "map": {"k": -1}});
    let mut variables = Variables::default();
    for name in expression.variables() {
        variables.set(name, &own);
    }
    let _ = expression.run(&variables, 100_000);
});
