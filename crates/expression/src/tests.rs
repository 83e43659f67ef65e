use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::*;

fn holds(text: &str, pods: &Value) -> Result<bool, Error> {
    let mut variables = Variables::default();
    variables.set("pods", pods);
    Expression::compile(text)?.holds(&variables)
}

fn value(text: &str) -> Value {
    Expression::compile(text).and_then(|expression| expression.evaluate(&Variables::default())).unwrap()
}

fn refusal(text: &str, environment: &Environment) -> String {
    match Expression::compile_in(text, environment) {
        Err(error) => error.to_string(),
        Ok(_) => "accepted".to_owned(),
    }
}

fn cost(text: &str, own: &Value) -> u64 {
    let mut variables = Variables::default();
    variables.set("self", own);
    Expression::compile(text).unwrap().run(&variables, COST_OF_ONE_EXPRESSION).cost
}

#[test]
fn expressions_look_into_objects() {
    let pods =
        json!([{"metadata": {"name": "a"}, "status": {"phase": "Running"}, "n": 3}, {"metadata": {"name": "b"}}]);
    for (text, expected) in [
        ("size(pods) == 2", true),
        ("pods.filter(p, has(p.status) && p.status.phase == 'Running').size() == 1", true),
        ("pods.exists(p, p.metadata.name == 'b' && !has(p.status))", true),
        ("pods.all(p, p.metadata.name < 'b')", false),
        ("pods[0].n + 1 == 4", true),
        ("quantity('1Gi').isGreaterThan(quantity('1Mi'))", true),
        ("pods[?7].hasValue() || pods[0].?status.?phase.orValue('') == 'Running'", true),
        ("pods.map(p, p.metadata.name).sortBy(n, n == 'a').join('-') == 'b-a'", true),
        ("pods.transformMap(i, p, p.metadata.name)[1] == 'b'", true),
    ] {
        assert_eq!(holds(text, &pods), Ok(expected), "{text}");
    }
}

#[test]
fn libraries_give_what_kubernetes_gives() {
    for (text, expected) in [
        ("'hello'.substring(1, 3)", json!("el")),
        ("'a,b,c'.split(',', 2)", json!(["a", "b,c"])),
        ("'%s is %.2f of %d'.format(['x', 1234.5, 3])", json!("x is 1,234.50 of 3")),
        ("[3, 1, 2].sort()", json!([1, 2, 3])),
        ("[1, 2, 2].distinct() + lists.range(2)", json!([1, 2, 0, 1])),
        ("'abc 123'.find('[0-9]+')", json!("123")),
        ("url('https://a.b:80/p?q=1').getHost()", json!("a.b:80")),
        ("cidr('10.0.0.0/8').containsIP('10.1.2.3')", json!(true)),
        ("semver('v1.2', true).compareTo(semver('1.10.0'))", json!(-1)),
        ("format.dns1123Label().validate('Aa').hasValue()", json!(true)),
        ("timestamp('2024-02-29T12:00:00Z').getDayOfYear('Europe/Berlin')", json!(59)),
        ("string(duration('1h30m'))", json!("5400s")),
        ("sets.equivalent([1, 2], [2, 1, 1])", json!(true)),
        ("optional.of(3).optMap(x, x + 1).orValue(0)", json!(4)),
        ("string(1e6)", json!("1e+06")),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn a_bad_text_is_refused_in_the_words_of_cel_go() {
    let environment = Environment::new().with("self", Type::map(Type::String, Type::Int));
    for (text, expected) in [
        (
            "self ==",
            "ERROR: <input>:1:8: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | self ==\n | .......^",
        ),
        (
            "x + y",
            "ERROR: <input>:1:1: undeclared reference to 'x' (in container '')\n | x + y\n | ^\nERROR: <input>:1:5: undeclared reference to 'y' (in container '')\n | x + y\n | ....^",
        ),
        (
            "1 == 'a'",
            "ERROR: <input>:1:3: found no matching overload for '_==_' applied to '(int, string)'\n | 1 == 'a'\n | ..^",
        ),
        (
            "T{} == T{}",
            "ERROR: <input>:1:2: undeclared reference to 'T' (in container '')\n | T{} == T{}\n | .^\nERROR: <input>:1:9: undeclared reference to 'T' (in container '')\n | T{} == T{}\n | ........^",
        ),
        ("self.a.b", "ERROR: <input>:1:7: type 'int' does not support field selection\n | self.a.b\n | ......^"),
        ("'é'.matches('[')", "ERROR: <input>:1:13: invalid matches argument\n | 'é'.matches('[')\n | .．..........^"),
    ] {
        assert_eq!(refusal(text, &environment), expected, "{text}");
    }
}

#[test]
fn fields_are_those_of_the_schema() {
    let replicas = SchemaField { key: "replicas".into(), schema: Arc::new(Schema::new(Shape::Int)), is_required: true };
    let fields = [("replicas".to_owned(), replicas)].into();
    let schema = Arc::new(Schema::new(Shape::Object(Object { name: "selfType".into(), fields })));
    let environment = Environment::new().with("self", schema.as_type());
    let expected = "ERROR: <input>:1:5: undefined field 'replica'\n | self.replica > 1\n | ....^";
    assert_eq!(refusal("self.replica > 1", &environment), expected);
    let expression = Expression::compile_in("self.replicas > 1", &environment).unwrap();
    let own = json!({"replicas": 2, "other": 1});
    let mut variables = Variables::default();
    variables.set_typed("self", &own, &schema);
    assert_eq!(expression.decide(&variables, 100), EvaluationResult { result: Ok(true), cost: 3 });
}

#[test]
fn sets_and_keyed_lists_are_the_same_in_any_order() {
    let text = Arc::new(Schema::new(Shape::String));
    let name = SchemaField { key: "name".into(), schema: Arc::clone(&text), is_required: true };
    let item = Schema::new(Shape::Object(Object { name: "item".into(), fields: [("name".to_owned(), name)].into() }));
    let set = Arc::new(Schema::new(Shape::List(text, Order::Any)));
    let keyed = Arc::new(Schema::new(Shape::List(Arc::new(item), Order::Keyed(vec!["name".into()]))));
    for (schema, one, other) in [
        (&set, json!(["a", "b"]), json!(["b", "a"])),
        (&keyed, json!([{"name": "a"}, {"name": "b"}]), json!([{"name": "b"}, {"name": "a"}])),
    ] {
        let environment = Environment::new().with("self", schema.as_type()).with("oldSelf", schema.as_type());
        let mut variables = Variables::default();
        variables.set_typed("self", &one, schema);
        variables.set_typed("oldSelf", &other, schema);
        let expression = Expression::compile_in("self == oldSelf", &environment).unwrap();
        assert_eq!(expression.holds(&variables), Ok(true));
        let expression = Expression::compile_in("self != oldSelf", &environment).unwrap();
        assert_eq!(expression.holds(&variables), Ok(false));
    }
}

#[test]
fn errors_on_one_side_do_not_spoil_what_the_other_side_decides() {
    let own = json!({});
    assert_eq!(holds("pods.missing == 1 || true", &own), Ok(true));
    assert_eq!(holds("false && pods.missing == 1", &own), Ok(false));
    assert_eq!(holds("pods.missing == 1", &own), Err(Error::Evaluation("no such key: missing".into())));
    assert_eq!(holds("[1, 0].exists(x, 1 / x == 1)", &own), Ok(true));
    assert!(matches!(holds("1 + 1", &own), Err(Error::NotABoolean(_))));
    assert!(matches!(holds("nobody == 1", &own), Err(Error::Evaluation(_))));
}

#[test]
fn steps_cost_what_they_cost_in_kubernetes() {
    let own = json!({"a": {"b": 1}, "list": [1, 2, 3], "s": "0123456789ab"});
    for (text, expected) in [
        ("self.a.b == 1", 4),
        ("has(self.a.b)", 2),
        ("self.list.all(x, x > 0)", 18),
        ("self.s.contains('abc')", 4),
        ("self.s.matches('^[0-9a-b]*$')", 8),
        ("1 in [1, 2, 3]", 0),
        ("self.list.map(x, x * 2)", 45),
    ] {
        assert_eq!(cost(text, &own), expected, "{text}");
    }
}

#[test]
fn an_expression_over_its_cost_limit_is_stopped() {
    let list: Vec<i32> = (0..300).collect();
    let own = json!({"pods": list});
    let text = "pods.pods.all(a, pods.pods.all(b, pods.pods.all(c, pods.pods.all(d, a + b + c + d >= 0))))";
    let error = holds(text, &own).unwrap_err();
    assert_eq!(error.to_string(), "operation cancelled: actual cost limit exceeded");
    assert!(error.is_too_costly());
}

#[test]
fn small_texts_that_grow_are_refused_or_stopped() {
    let doubled = format!("{}[0]{}", "[".repeat(70), "]".repeat(70));
    let mapped = format!("optional.of([1]){}", ".optMap(x, x + x)".repeat(40));
    let replaced = format!("'{}'{}", "a".repeat(1000), ".replace('', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')".repeat(10));
    let ternaries = format!("{}true{}", "true ? ".repeat(300), " : false".repeat(300));
    let negated = format!("{}pods", "!".repeat(90_001));
    let sums = format!("1{}", " + 1".repeat(20_000));
    let dots = format!("pods{}", ".a".repeat(20_000));
    let bound = (1..60).fold("1".to_owned(), |inner, _| format!("optional.of({{1: 1}}).optMap(x, {{x: {inner}}})"));
    let nested = (0..60).fold("x".to_owned(), |inner, _| format!("optional.of({{x: x}}).optMap(x, {inner})"));
    let typed = format!("optional.of({{1: 1}}).optMap(x, {nested})");
    let patterns = "lists.range(1000).all(x, 'a'.matches('(a{1,900}){1,900}' + string(x)))".to_owned();
    for text in [doubled, mapped, replaced, ternaries, negated, sums, dots, patterns, bound, typed, "(".repeat(90_000)]
    {
        assert!(holds(&text, &json!({})).is_err(), "{}", &text[..60]);
    }
}

#[test]
fn only_names_from_outside_count_as_variables() {
    let expression =
        Expression::compile("pods.filter(p, p.a == limit).map(q, q.b).size() > 0 && size(x.y) == 1").unwrap();
    let names: Vec<_> = expression.variables().iter().map(String::as_str).collect();
    assert_eq!(names, ["limit", "pods", "x"]);
}

#[test]
fn an_authorizer_is_asked_what_the_expression_says() {
    struct Alice;
    impl Authorizer for Alice {
        fn decide(&self, question: &AuthorizerAttributes) -> AuthorizerDecision {
            let allowed = question.verb == "create" && question.resource == "pods" && question.namespace == "n";
            AuthorizerDecision { allowed, reason: "so".into(), error: None }
        }
    }
    let mut variables = Variables::default();
    variables.set_authorizer("authorizer", Arc::new(Alice));
    let environment = Environment::new().with("authorizer", Type::Named("kubernetes.authorization.Authorizer"));
    for (text, expected) in [
        ("authorizer.group('').resource('pods').namespace('n').check('create').allowed()", json!(true)),
        ("authorizer.group('').resource('pods').check('create').allowed()", json!(false)),
        ("authorizer.serviceAccount('n', 'x').path('/healthz').check('get').reason()", json!("so")),
    ] {
        let expression = Expression::compile_in(text, &environment).unwrap();
        assert_eq!(expression.evaluate(&variables), Ok(expected), "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_anything_panic(text in r#"[ -~]{0,60}"#) {
        let _ = holds(&text, &json!([{"a": 1}]));
    }

    #[test]
    fn no_combination_of_words_makes_anything_panic(words in proptest::collection::vec(
        proptest::sample::select(vec!["pods", "size(", "(", ")", "[", "]", "{", "}", "==", "+", "-", "!", "1", "'a'",
            ".", "map(p,", "p", "has(", "quantity(", ",", "?", ":", "&&", "9223372036854775807", "%", "/", "0",
            "duration(", "'1h'", "matches(", "'['", ".?a", "[?", ".optMap(x,", "all(", "i, v,", ".sortBy(e,", "in",
            ".format([", "'%s'", "lists.range(", "b'\\xff'", "1u", "1.5e300", "null", "T{"]), 0..16)) {
        let _ = holds(&words.join(" "), &json!([{"a": 1}]));
    }

    #[test]
    fn no_cost_goes_beyond_its_limit_by_more_than_one_step(size in 0..200_usize, limit in 0..2000_u64) {
        let list: Vec<usize> = (0..size).collect();
        let own = json!(list);
        let mut variables = Variables::default();
        variables.set("self", &own);
        let expression = Expression::compile("self.map(x, x + 1).filter(x, x % 2 == 0).size() >= 0").unwrap();
        let run = expression.decide(&variables, limit);
        prop_assert!(run.cost <= limit + 10);
        prop_assert_eq!(run.result.is_ok(), run.cost <= limit);
    }
    #[test]
    fn an_allowance_does_not_change_the_result_within_it(size in 0..400_usize, text in proptest::sample::select(vec![
        "self.all(a, self.all(b, a + b >= 0))", "self.map(a, string(a)).join(',').size() > 7", "1 / self.size() > 0 || true",
        "self.exists(a, self == self.map(b, b + a))", "self.all(a, variables.all)", "variables.all || self.size() > 3",
    ])) {
        let list: Vec<usize> = (0..size).collect();
        let own = json!(list);
        let mut variables = Variables::default();
        variables.set("self", &own);
        variables.set_computed("variables.all", Arc::new(Expression::compile("self.all(a, self.exists(b, a == b))")));
        let mut environment = Environment::new().with("self", Type::Dyn);
        environment = environment.with("variables.all", Type::Dyn);
        let expression = Expression::compile_in(text, &environment).unwrap();
        let without = expression.decide(&variables, COST_OF_ONE_EXPRESSION);
        let short = Allowance::short();
        let within = Session::within(&variables, &short).decide(&expression, COST_OF_ONE_EXPRESSION);
        prop_assert_eq!(short.is_spent(), within != without);
        prop_assert!(!short.is_spent() || without.cost > 5_000);
    }
}

#[test]
fn many_small_expressions_spend_an_allowance_together() {
    let expression = Expression::compile("1 + 1 == 2").unwrap();
    let (variables, short) = (Variables::default(), Allowance::short());
    let count = (0..).take_while(|_| {
        let _ = Session::within(&variables, &short).decide(&expression, COST_OF_ONE_EXPRESSION);
        !short.is_spent()
    });
    assert!((500..5_000).contains(&count.count()));
}

#[test]
fn a_question_to_an_authorizer_is_dear_and_takes_no_time() {
    struct Nobody;
    impl Authorizer for Nobody {
        fn decide(&self, _: &AuthorizerAttributes) -> AuthorizerDecision {
            AuthorizerDecision::default()
        }
    }
    let mut variables = Variables::default();
    variables.set_authorizer("authorizer", Arc::new(Nobody));
    let environment = Environment::new().with("authorizer", Type::Named("kubernetes.authorization.Authorizer"));
    let text = "authorizer.path('/healthz').check('get').allowed()";
    let expression = Expression::compile_in(text, &environment).unwrap();
    let short = Allowance::short();
    let run = Session::within(&variables, &short).decide(&expression, COST_OF_ONE_EXPRESSION);
    assert_eq!((run.result, short.is_spent()), (Ok(false), false));
    assert!(run.cost > 350_000);
}

#[test]
fn an_expression_says_what_it_goes_through() {
    let pods = json!([{"name": "a"}]);
    let (none, one) = (json!([]), json!([1]));
    let mut variables = Variables::default();
    variables.set("pods", &pods);
    variables.set("jobs", &none);
    variables.set("gone", &one);
    for (text, expected) in [
        ("pods.all(p, p.name == 'a')", "[[{\"name\":\"a\"}]]"),
        ("pods.filter(p, p.name == 'b').all(p, jobs.size() == 0)", "[[]]"),
        ("jobs.size() <= 3 || pods.exists(p, true)", "[[{\"name\":\"a\"}],[]]"),
        ("jobs.all(j, pods.exists(p, p.name == j.name))", "[[]]"),
        ("size(pods.filter(p, p.name == 'b')) == 0 && gone[0] == 1", "[[1],[{\"name\":\"a\"}]]"),
        ("true", "[]"),
    ] {
        let ranges = Expression::compile(text).unwrap().ranges();
        let values: Vec<Value> = ranges.iter().map(|range| range.evaluate(&variables).unwrap()).collect();
        assert_eq!(Value::from(values).to_string(), expected, "{text}");
    }
}
