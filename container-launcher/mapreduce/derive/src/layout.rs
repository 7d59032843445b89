//! How a struct or enum becomes bytes: as a tuple of its fields, of an enum with the number of the variant in front.

mod key;
mod shape;
mod value;
mod variants;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Generics, Ident, Item};

use key::key;
use shape::Shape;
use value::{encoded, value};
use variants::variants;

/// What is derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Key,
    Value,
}

pub(crate) fn derived(of: Of, item: &Item) -> Result<TokenStream, Error> {
    let (name, shapes) = match item {
        Item::Struct(item) => {
            plain(&item.ident, &item.generics)?;
            let shape = Shape::new(quote!(Self), None, &item.fields);
            (&item.ident, vec![shape])
        }
        Item::Enum(item) => {
            plain(&item.ident, &item.generics)?;
            (&item.ident, variants(of, item)?)
        }
        Item::Union(item) => {
            return Err(Error::new_spanned(
                &item.ident,
                "nobody knows which field of a union is in it, so it is no key and no value: an enum is",
            ));
        }
        other => return Err(Error::new_spanned(other, "this stands on a struct or enum")),
    };
    let value = value(name, &shapes);
    let encoded = encoded(of, name, &shapes);
    let key = (of == Of::Key).then(|| key(name, &shapes));
    Ok(quote!(#value #encoded #key))
}

/// A type without parameters.
fn plain(name: &Ident, generics: &Generics) -> Result<(), Error> {
    if generics.params.is_empty() {
        return Ok(());
    }
    Err(Error::new_spanned(
        generics,
        format!(
            "a derived key or value is one type with one layout, so {name} cannot have parameters: write the types and own what \
             is borrowed"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use syn::{Item, parse_quote};

    use super::{Of, derived};

    fn refused(of: Of, item: &Item) -> String {
        derived(of, item).unwrap_err().to_string()
    }

    #[test]
    fn what_has_no_layout_is_refused_in_a_sentence() {
        let said = refused(
            Of::Key,
            &parse_quote!(
                struct Pair<T> {
                    of: T,
                }
            ),
        );
        assert!(
            said.starts_with("a derived key or value is one type with one layout, so Pair cannot"),
            "{said}"
        );
        let said = refused(
            Of::Value,
            &parse_quote!(
                enum Line<'a> {
                    Of(&'a str),
                }
            ),
        );
        assert!(said.contains("so Line cannot have parameters"), "{said}");
        let said = refused(
            Of::Value,
            &parse_quote!(union Bits { whole: u32, float: f32 }),
        );
        assert!(said.contains("which field of a union is in it"), "{said}");
        let said = refused(
            Of::Key,
            &parse_quote!(
                enum Never {}
            ),
        );
        assert!(said.ends_with("and this one has 0"), "{said}");
        let variants = (0..257).map(|number| quote::format_ident!("V{number}"));
        let said = refused(Of::Value, &parse_quote!(enum Many { #(#variants),* }));
        assert!(said.ends_with("and this one has 257"), "{said}");
    }

    #[test]
    fn numbers_of_a_keys_variants_rise() {
        let falling: Item = parse_quote!(
            enum Level {
                High = 9,
                Low = 1,
            }
        );
        assert!(refused(Of::Key, &falling).contains("their numbers must rise"));
        assert!(derived(Of::Value, &falling).is_ok());
        assert!(
            derived(
                Of::Key,
                &parse_quote!(
                    enum Level {
                        Low = -3,
                        Middle,
                        High = 9,
                    }
                )
            )
            .is_ok()
        );
        let equal: Item = parse_quote!(
            enum Level {
                Low = 3,
                Middle,
                High = 4,
            }
        );
        assert!(refused(Of::Key, &equal).contains("their numbers must rise"));
        let named: Item = parse_quote!(
            enum Level {
                Low = LOW,
            }
        );
        assert!(refused(Of::Key, &named).contains("be written as numbers"));
    }
}
