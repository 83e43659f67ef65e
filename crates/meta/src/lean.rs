//! Structs that keep unknown fields and use little memory for absent ones.
//!
//! [`lean_struct!`](crate::lean_struct) writes a struct with its (de)serialization: `null` and absence are the same,
//! empty lists and maps are not written, and fields without a name in the struct stay in `unknown`.

use std::collections::BTreeMap;

/// The operations of a field's value.
pub trait Field {
    /// True if it means that the field is not there, so that it need not be written.
    fn is_absent(&self) -> bool;

    /// Gives back the memory that reading it took and that it does not need.
    fn fit(&mut self) {}
}

impl<T> Field for Option<T> {
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T> Field for Vec<T> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }

    // Most lists have one item, and a list that grows begins with room for four.
    fn fit(&mut self) {
        self.shrink_to_fit();
    }
}

impl<K, V> Field for BTreeMap<K, V> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

macro_rules! always_written {
    ($($type:ty),*) => { $(impl Field for $type { fn is_absent(&self) -> bool { false } })* };
}
always_written!(String, bool, i32, i64, f64, serde_json::Value, crate::Quantity, crate::IntOrString);

/// Whether a field that is written `if nonzero` is zero: Go's `omitempty` of a value.
pub fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Writes a struct whose JSON form is an object: fields by their JSON names, the rest in `unknown`.
///
/// A field that is neither `Option`, `Vec`, map, string, number nor bool needs [`Field`](crate::lean::Field) for its
/// type; structs written by this macro have it (always written). `= "name" if nonzero` leaves a zero out.
/// A name with a version, `pub struct Pod("v1", "Pod")`, is that of a kind: its `apiVersion` and `kind` are written
/// first, and cost nothing.
#[macro_export]
macro_rules! lean_struct {
    (@absent $value:expr) => { $crate::lean::Field::is_absent($value) };
    (@absent $value:expr, nonzero) => { $crate::lean::is_zero($value) };
    ($(#[$meta:meta])* pub struct $Name:ident $(($api_version:literal, $kind:literal))? {
        $($(#[$field_meta:meta])* $field:ident : $type:ty = $json:literal $(if $rule:ident)?,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $Name {
            $($(#[$field_meta])* pub $field: $type,)*
            /// Fields that this type does not know.
            pub unknown: $crate::Unknown,
        }

        impl $crate::lean::Field for $Name {
            fn is_absent(&self) -> bool {
                false
            }
        }

        impl ::serde::Serialize for $Name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> ::std::result::Result<S::Ok, S::Error> {
                #[allow(unused_imports, clippy::allow_attributes, reason = "a struct may have no fields")]
                use ::serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                $(
                    map.serialize_entry("apiVersion", $api_version)?;
                    map.serialize_entry("kind", $kind)?;
                )?
                $(if !$crate::lean_struct!(@absent &self.$field $(, $rule)?) {
                    map.serialize_entry($json, &self.$field)?;
                })*
                for (name, value) in self.unknown.iter().flat_map(|unknown| unknown.iter()) {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $Name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> ::std::result::Result<Self, D::Error> {
                struct Fields;
                impl<'de> ::serde::de::Visitor<'de> for Fields {
                    type Value = $Name;
                    fn expecting(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                        f.write_str(concat!("a ", stringify!($Name)))
                    }
                    fn visit_map<A: ::serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> ::std::result::Result<$Name, A::Error> {
                        #[allow(unused_mut, clippy::allow_attributes, reason = "a struct may have no fields")]
                        let mut out = $Name::default();
                        while let Some(name) = map.next_key::<$crate::lean::FieldName<'de>>()? {
                            match name.as_str() {
                                $($json => {
                                    out.$field = map.next_value::<Option<$type>>()?.unwrap_or_default();
                                    $crate::lean::Field::fit(&mut out.$field);
                                })*
                                $("apiVersion" | "kind" => {
                                    const _: &str = $kind;
                                    map.next_value::<::serde::de::IgnoredAny>()?;
                                })?
                                other => {
                                    let other = other.to_owned();
                                    let value = map.next_value::<$crate::lean::Value>()?;
                                    out.unknown.get_or_insert_with(Box::default).insert(other, value);
                                }
                            }
                        }
                        Ok(out)
                    }
                }
                deserializer.deserialize_map(Fields)
            }
        }
    };
}

pub use serde_json::Value;

/// A field's name while it is read: borrowed from the input where possible.
#[derive(Debug)]
pub struct FieldName<'de>(std::borrow::Cow<'de, str>);

impl FieldName<'_> {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> serde::Deserialize<'de> for FieldName<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> serde::de::Visitor<'de> for Text {
            type Value = FieldName<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a field name")
            }
            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<FieldName<'de>, E> {
                Ok(FieldName(name.into()))
            }
            fn visit_str<E>(self, name: &str) -> Result<FieldName<'de>, E> {
                Ok(FieldName(name.to_owned().into()))
            }
            fn visit_string<E>(self, name: String) -> Result<FieldName<'de>, E> {
                Ok(FieldName(name.into()))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    #![expect(unreachable_pub, reason = "the macro writes public structs")]
    use serde_json::json;

    crate::lean_struct! {
        /// A kind.
        pub struct Boat("example.com/v1", "Boat") {
            /// Always written.
            oars: i32 = "oars",
            /// Written if not empty.
            name: String = "name" if nonzero,
        }
    }

    #[test]
    fn a_kind_names_itself_first_and_leaves_out_the_zeros_that_it_may() {
        let boat: Boat = serde_json::from_value(json!({"kind": "Ship", "name": null, "sail": 1})).unwrap();
        let text = serde_json::to_string(&boat).unwrap();
        assert_eq!(text, r#"{"apiVersion":"example.com/v1","kind":"Boat","oars":0,"sail":1}"#);
    }
}
