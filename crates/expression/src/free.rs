//! The names that an expression takes from outside.

use std::collections::BTreeSet;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{EntryExpr, Expr};

/// All identifiers but those that a macro such as `filter(p, …)` binds.
pub(crate) fn variables(expression: &IdedExpr) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    walk(expression, &mut Vec::new(), &mut found);
    found
}

fn walk(expression: &IdedExpr, bound: &mut Vec<String>, found: &mut BTreeSet<String>) {
    match &expression.expr {
        Expr::Unspecified | Expr::Literal(_) => {}
        Expr::Ident(name) => {
            if !bound.contains(name) {
                found.insert(name.clone());
            }
        }
        Expr::Call(call) => {
            call.target.iter().for_each(|target| walk(target, bound, found));
            call.args.iter().for_each(|argument| walk(argument, bound, found));
        }
        Expr::Comprehension(comprehension) => {
            walk(&comprehension.iter_range, bound, found);
            walk(&comprehension.accu_init, bound, found);
            let outer = bound.len();
            bound.push(comprehension.iter_var.clone());
            bound.extend(comprehension.iter_var2.clone());
            bound.push(comprehension.accu_var.clone());
            for inner in [&comprehension.loop_cond, &comprehension.loop_step, &comprehension.result] {
                walk(inner, bound, found);
            }
            bound.truncate(outer);
        }
        Expr::List(list) => list.elements.iter().for_each(|element| walk(element, bound, found)),
        Expr::Map(map) => map.entries.iter().for_each(|entry| walk_entry(&entry.expr, bound, found)),
        Expr::Struct(fields) => fields.entries.iter().for_each(|entry| walk_entry(&entry.expr, bound, found)),
        Expr::Select(select) => walk(&select.operand, bound, found),
    }
}

fn walk_entry(entry: &EntryExpr, bound: &mut Vec<String>, found: &mut BTreeSet<String>) {
    match entry {
        EntryExpr::StructField(field) => walk(&field.value, bound, found),
        EntryExpr::MapEntry(entry) => {
            walk(&entry.key, bound, found);
            walk(&entry.value, bound, found);
        }
    }
}
