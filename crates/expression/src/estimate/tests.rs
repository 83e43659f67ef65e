use std::sync::Arc;

use super::*;
use crate::check::check;
use crate::environment::Environment;
use crate::schema::{Object, Order, Schema, SchemaField, Shape};
use crate::syntax::{Bindings, parse};

fn cost(text: &str, schema: Schema) -> (u64, u64) {
    let schema = Arc::new(schema);
    let environment = Environment::new().with("self", schema.as_type());
    let mut tree = parse(text, Bindings::default()).unwrap();
    let typed = check(text, &mut tree, &environment).unwrap();
    let range = estimate(&tree, &typed, Some(&schema));
    (range.least, range.most)
}

fn list(items: Schema, largest: Option<u64>) -> Schema {
    Schema::new(Shape::List(Arc::new(items), Order::Fixed)).with_largest(largest)
}

fn map(values: Schema, largest: Option<u64>) -> Schema {
    Schema::new(Shape::Map(Arc::new(values))).with_largest(largest)
}

fn text(largest: Option<u64>) -> Schema {
    Schema::new(Shape::String).with_largest(largest)
}

fn number() -> Schema {
    Schema::new(Shape::Double)
}

/// The figures are those of Kubernetes' own `TestCostEstimation`.
#[test]
fn the_greatest_costs_are_those_of_kubernetes() {
    let all = "self.all(x, true)";
    for (text_of_rule, schema, expected) in [
        (all, list(number(), None), 4_718_591),
        (all, list(number(), Some(10)), 32),
        (all, list(text(None), None), 3_145_727),
        (all, list(Schema::new(Shape::Bool), None), 1_887_437),
        (all, list(list(number(), None), None), 3_145_727),
        (all, map(number(), None), 1_348_169),
        (all, map(text(None), Some(3)), 11),
        ("has(self.x)", map(number(), None), 1),
        ("self.contains('test')", text(None), 314_574),
        ("self.contains('test')", text(Some(10)), 5),
        ("self.startsWith('test')", text(None), 2),
        ("size(self + \"hello\") > size(\"hello\")", text(None), 314_578),
        ("size(self + \"hello\") > size(\"hello\")", text(Some(4)), 7),
        ("self[1] == 0.0", list(number(), None), 2),
        ("self[1] == self[1]", list(text(None), Some(8)), 314_577),
        ("self.all(x, self.all(y, true))", list(number(), Some(10)), 352),
        ("self.all(x, self.all(y, self.all(z, true)))", list(number(), Some(10)), 3552),
        ("self.matches(\"x\")", text(None), 314_574),
        ("\"\".matches(\"(((((((((())))))))))[0-9]\")", text(None), 7),
        ("self.matches(\"\")", text(Some(100)), 1),
        ("self[\"x\"] == 0.0", map(number(), Some(0)), 2),
        ("self == \"x\"", text(None), 2),
        ("self == \"x\"", text(Some(0)), 1),
        ("self.all(x, x == 0.0)", list(number(), None), 6_291_454),
        ("self.all(x, x == 0.0)", list(number(), Some(3 * 1024 * 2048)), 25_165_826),
    ] {
        assert_eq!(cost(text_of_rule, schema).1, expected, "{text_of_rule}");
    }
}

#[test]
fn fields_have_the_limits_that_are_declared_for_them() {
    let field = |key: &str, schema: Schema| {
        (key.to_owned(), SchemaField { key: key.to_owned(), schema: Arc::new(schema), is_required: false })
    };
    let object = || {
        let fields =
            [field("short", text(Some(5))), field("long", text(None)), field("list", list(text(Some(5)), Some(3)))];
        Schema::new(Shape::Object(Object { name: "selfType".into(), fields: fields.into() }))
    };
    for (rule, expected) in [
        ("self.short.contains('a')", 4),
        ("self.long.contains('a')", 314_575),
        ("self.list.exists(x, x.contains('a'))", 24),
        ("self.list.map(x, x + 'a').join(',').size() > 0", 1_844_674_407_370_955_327),
        ("self.list.sortBy(x, x)[0] == 'a'", 95),
        ("self.list.distinct().size() == 1", 33),
        ("self.short.replace('a','bbb').split('b').size() > 1", 20),
        ("self.list.transformMap(i, x, x + 'q').size() > 1", 56),
        ("optional.of(self.short).optMap(x, x + x).orValue('a').size() > 2", 1_844_674_407_370_955_288),
        ("self.?short.orValue('x').matches('[a-z]+')", 3_689_348_814_741_910_531),
        ("self.short == 'x' ? self.long.size() > 3 : self.list.filter(x, x != 'a').all(x, x.startsWith('c'))", 77),
        ("ip(self.short).family() == 4", 6),
        ("quantity(self.long).isGreaterThan(quantity('1'))", 314_577),
        ("url(self.short) == url(self.short)", 10),
        ("self.list == self.list", 5),
        ("dyn(self.short) == 'a'", 4),
        ("format.dns1123Label().validate(self.short).hasValue()", 68),
        ("self.list.indexOf('a') > 0", 12),
        ("self.list + self.list == []", 15),
        ("{'a': self.short}.all(k, k == 'a')", 37),
        ("sets.contains(self.list, ['a'])", 16),
        ("lists.range(3).map(i, self.list[i]).join('').size() > 3", 1_844_674_407_370_955_339),
        ("self.short in self.list", 7),
        ("type(self.short) == string", 4),
        ("self.list.exists_one(x, x == self.short)", 25),
        ("self.short.lowerAscii() + self.short == 'a'", 11),
    ] {
        assert_eq!(cost(rule, object()).1, expected, "{rule}");
    }
}

#[test]
fn maps_optional_values_and_values_of_any_type_cost_what_they_cost_in_kubernetes() {
    let field = |key: &str, schema: Schema| {
        (key.to_owned(), SchemaField { key: key.to_owned(), schema: Arc::new(schema), is_required: false })
    };
    let object = || {
        let inner = [field("a", text(Some(3))), field("t", Schema::new(Shape::Timestamp))];
        let inner = Schema::new(Shape::Object(Object { name: "selfType.o".into(), fields: inner.into() }));
        let lists = map(list(text(Some(3)), Some(2)), Some(4));
        let fields = [field("o", inner), field("m", lists), field("i", Schema::new(Shape::Any))];
        Schema::new(Shape::Object(Object { name: "selfType".into(), fields: fields.into() }))
    };
    for (rule, expected) in [
        ("has(self.o.a)", 2),
        ("has(self.o) && self.o.a == 'x'", 5),
        ("self.m.all(k, self.m[k].all(v, v.startsWith(k)))", 75),
        ("self.m.exists(k, v, v.exists(w, w == k))", 75),
        ("type(self.i) == string ? self.i == '5' : self.i < 5", 7),
        ("self.o.t > timestamp('2020-01-01T00:00:00Z')", 5),
        ("self.o.t.getFullYear() > 2000", 5),
        ("!has(self.o.t) || self.o.a.matches('^a')", 8),
        ("self.m.map(k, k).join(',') == ''", 1_844_674_407_370_955_329),
        ("self.m.transformList(k, v, v.size()).sum() > 3", 74),
        ("self.m['a'][0] + 'x' == 'y'", 7),
        ("string(self.i).size() > 3", 314_577),
        ("self.o.a.split('').size() > 1", 8),
        ("'%s'.format([self.o.a]) == 'x'", 15),
        ("duration('3s') < duration('4s')", 3),
        ("self.o == self.o", 4),
        ("self.m.size() in [1,2,3]", 16),
        ("cidr('10.0.0.0/8').containsIP(self.o.a)", 10),
        ("self.o.a.find('[a-z]') == 'b'", 8),
        ("self.?o.?a.orValue('abc').size() > 1", 6),
        ("[self.o.a, 'b'].exists(x, x == 'b')", 24),
        ("{'a': 1}.exists(k, k == self.o.a)", 39),
        ("semver('1.0.0') == semver('1.0.0')", 3),
        ("self.m.filter(k, self.m[k].size() > 1).size() > 1", 91),
        ("dyn(self.m).a == 3", 3),
        ("self.o.a.upperAscii().substring(1).trim() == 'A'", 10),
        ("b'abc' == bytes(self.o.a)", 6),
        ("self.o.a.charAt(0) == 'a'", 5),
        ("self.o.a.indexOf('b') == 1", 6),
        ("self.m.all(k, self.m.all(l, k != l))", 107),
    ] {
        assert_eq!(cost(rule, object()).1, expected, "{rule}");
    }
}

#[test]
fn unevaluated_branches_have_a_minimum_cost_of_zero() {
    let (least, most) = cost("self == 'a' && self.contains('b')", text(Some(1000)));
    assert!(least < 10 && most > 300, "{least}..{most}");
    assert_eq!(cost("1 == 1 || self == 'a'", text(None)).0, 1);
}
