//! How a struct or enum becomes bytes: as a tuple of its fields, of an enum with the number of the variant in front.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Error, Expr, Fields, Generics, Ident, Item, ItemEnum, Lit, Member, Type, UnOp, Variant};

/// What is derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Key,
    Value,
}

/// A struct, or one variant of an enum.
struct Shape {
    /// What is in front of its fields.
    path: TokenStream,
    /// Of a variant: its number, and its name.
    variant: Option<(u8, String)>,
    fields: Vec<Field>,
}

struct Field {
    member: Member,
    of: Type,
    /// Where it is in the user's code, for what the compiler says of its type.
    span: Span,
    /// What holds it while it is written.
    name: Ident,
}

/// Variants that a byte tells apart.
const VARIANTS: usize = 256;

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

fn variants(of: Of, item: &ItemEnum) -> Result<Vec<Shape>, Error> {
    let count = item.variants.len();
    if count == 0 || count > VARIANTS {
        return Err(Error::new_spanned(
            &item.ident,
            format!("an enum of 1 to {VARIANTS} variants is wanted, and this one has {count}"),
        ));
    }
    if of == Of::Key {
        in_order(item.variants.iter())?;
    }
    let numbered = (0..=u8::MAX).zip(&item.variants);
    Ok(numbered
        .map(|(number, variant)| {
            let name = &variant.ident;
            let told = Some((number, name.unraw().to_string()));
            Shape::new(quote!(Self::#name), told, &variant.fields)
        })
        .collect())
}

/// A derived `Ord` goes by numbers, where the user has written some.
fn in_order<'a>(variants: impl Iterator<Item = &'a Variant>) -> Result<(), Error> {
    // The first one may be below zero.
    let (mut next, mut least) = (0_i128, i128::MIN);
    for variant in variants {
        if let Some((_, told)) = &variant.discriminant {
            let number = number(told).filter(|number| *number >= least);
            next = number.ok_or_else(|| {
                Error::new_spanned(
                    told,
                    "variants of a key are in the order in which they are declared, so their numbers must rise, and be \
                     written as numbers",
                )
            })?;
        }
        next += 1;
        least = next;
    }
    Ok(())
}

fn number(of: &Expr) -> Option<i128> {
    match of {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().ok(),
            _ => None,
        },
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            number(&unary.expr).map(|number| -number)
        }
        _ => None,
    }
}

impl Shape {
    fn new(path: TokenStream, variant: Option<(u8, String)>, fields: &Fields) -> Self {
        let fields = fields.members().zip(fields).enumerate();
        let fields = fields.map(|(number, (member, field))| Field {
            member,
            of: field.ty.clone(),
            span: field.ty.span().resolved_at(Span::call_site()),
            name: format_ident!("field_{number}"),
        });
        Self {
            path,
            variant,
            fields: fields.collect(),
        }
    }

    /// All fields but the last, which needs no end.
    fn firsts(&self) -> &[Field] {
        self.fields.split_last().map_or(&[], |(_, firsts)| firsts)
    }

    /// The fields of `rest`, of which the last one is all that is left, or ends as the others do.
    fn read(&self, last_is_alone: bool) -> TokenStream {
        let path = &self.path;
        let count = self.fields.len();
        let fields = self.fields.iter().enumerate().map(|(number, field)| {
            let Field {
                member, of, span, ..
            } = field;
            if last_is_alone && number + 1 == count {
                quote_spanned!(*span=> #member: derived::last::<#of>(rest)?)
            } else {
                quote_spanned!(*span=> #member: derived::first::<#of>(rest)?)
            }
        });
        let end = (last_is_alone && count == 0).then(|| quote!(derived::end::<Self>(rest)?;));
        quote!({ #end #path { #(#fields,)* } })
    }

    fn text(&self) -> TokenStream {
        let name = self.variant.as_ref().map(|(_, name)| {
            let tab = if self.fields.is_empty() { "" } else { "\t" };
            let name = format!("{name}{tab}");
            quote!(out.extend_from_slice(#name.as_bytes());)
        });
        let firsts = self.firsts().iter().map(
            |Field { of, span, .. }| quote_spanned!(*span=> derived::text::<#of>(rest, out)?;),
        );
        let last = match self.fields.last() {
            Some(Field { of, span, .. }) => {
                quote_spanned!(*span=> <#of as derived::Value>::text(rest, out)?;)
            }
            None => quote!(derived::end::<Self>(rest)?;),
        };
        quote!({ #name #(#firsts)* #last })
    }

    /// An arm that writes it, the last field without an end of its own, or with one.
    fn written(&self, last_is_alone: bool) -> TokenStream {
        let path = &self.path;
        let bound = self
            .fields
            .iter()
            .map(|Field { member, name, .. }| quote!(#member: #name));
        let number = self
            .variant
            .as_ref()
            .map(|(number, _)| quote!(out.push(#number);));
        let count = self.fields.len();
        let fields = self.fields.iter().enumerate().map(|(at, field)| {
            let Field { of, name, span, .. } = field;
            if last_is_alone && at + 1 == count {
                quote_spanned!(*span=> <#of as derived::EncodeAs<#of>>::append(#name, out)?;)
            } else {
                quote_spanned!(*span=> <#of as derived::EncodeAs<#of>>::append_part(#name, out)?;)
            }
        });
        quote!(#path { #(#bound,)* } => { #number #(#fields)* })
    }

    /// Goes beyond some of its fields.
    fn skipped(fields: &[Field]) -> TokenStream {
        let fields = fields
            .iter()
            .map(|Field { of, span, .. }| quote_spanned!(*span=> derived::skip::<#of>(rest)?;));
        quote!(#(#fields)*)
    }

    /// What is in front of the last field, and that field, of `bytes`.
    fn parted(&self) -> TokenStream {
        let number = self
            .variant
            .as_ref()
            .map(|_| quote!(derived::variant::<Self>(rest)?;));
        let firsts = Self::skipped(self.firsts());
        quote!(derived::parted(bytes, |rest| { #number #firsts ::core::result::Result::Ok(()) }))
    }

    /// The hash of `rest`: Java's of a list of the fields, behind the number of the variant; of a single field its own.
    fn hashed(&self, last_is_alone: bool) -> TokenStream {
        let of_last = |Field { of, span, .. }: &Field| {
            if last_is_alone {
                quote_spanned!(*span=> <#of as derived::Key>::java_hash(rest))
            } else {
                quote_spanned!(*span=> <#of as derived::Key>::java_hash_of_part(rest)?)
            }
        };
        if let (None, [one]) = (&self.variant, self.fields.as_slice()) {
            return of_last(one);
        }
        let start = match &self.variant {
            Some((number, _)) => 31 + i32::from(*number),
            None => 1,
        };
        let firsts = self.firsts().iter().map(|Field { of, span, .. }| {
            let part = quote_spanned!(*span=> <#of as derived::Key>::java_hash_of_part(rest));
            if last_is_alone {
                quote!(let hash = derived::hashed(hash, #part.unwrap_or_default());)
            } else {
                quote!(let hash = derived::hashed(hash, #part?);)
            }
        });
        let last = self.fields.last().map(|last| {
            let part = of_last(last);
            quote!(let hash = derived::hashed(hash, #part);)
        });
        quote!({ let hash = #start; #(#firsts)* #last hash })
    }
}

/// What `each` shape makes of `rest`, or what `other` is where it is no variant's number.
fn of_rest(
    shapes: &[Shape],
    each: impl Fn(&Shape) -> TokenStream,
    other: &TokenStream,
) -> TokenStream {
    match shapes {
        [shape @ Shape { variant: None, .. }] => each(shape),
        _ => {
            let arms = shapes.iter().map(|shape| {
                let number = shape.variant.as_ref().map(|(number, _)| number);
                let made = each(shape);
                quote!(::core::result::Result::Ok(#number) => #made,)
            });
            quote!(match derived::variant::<Self>(rest) { #(#arms)* _ => #other })
        }
    }
}

fn value(name: &Ident, shapes: &[Shape]) -> TokenStream {
    let malformed = quote!(return ::core::result::Result::Err(derived::malformed::<Self>(bytes)));
    let read = of_rest(shapes, |shape| shape.read(true), &malformed);
    let text = of_rest(shapes, Shape::text, &malformed);
    quote! {
        const _: () = {
            use ::gerbil_mapreduce::derived;

            #[automatically_derived]
            impl derived::Value for #name {
                type View<'a> = Self;
                type Owned = Self;
                const WRITABLE: ::core::option::Option<&'static str> = ::core::option::Option::None;

                fn decode(bytes: &[u8]) -> derived::Result<Self> {
                    let rest = &mut { bytes };
                    ::core::result::Result::Ok(#read)
                }

                fn text(bytes: &[u8], out: &mut ::std::vec::Vec<u8>) -> derived::Result<()> {
                    let rest = &mut { bytes };
                    #text
                    ::core::result::Result::Ok(())
                }
            }
        };
    }
}

fn encoded(of: Of, name: &Ident, shapes: &[Shape]) -> TokenStream {
    let alone = shapes.iter().map(|shape| shape.written(true));
    let part = (of == Of::Key).then(|| {
        let arms = shapes.iter().map(|shape| shape.written(false));
        quote! {
            fn append_part(&self, out: &mut ::std::vec::Vec<u8>) -> derived::Result<()> {
                match self { #(#arms)* }
                ::core::result::Result::Ok(())
            }
        }
    });
    quote! {
        const _: () = {
            use ::gerbil_mapreduce::derived;

            #[automatically_derived]
            impl derived::EncodeAs<#name> for #name {
                fn append(&self, out: &mut ::std::vec::Vec<u8>) -> derived::Result<()> {
                    match self { #(#alone)* }
                    ::core::result::Result::Ok(())
                }

                #part
            }
        };
    }
}

fn key(name: &Ident, shapes: &[Shape]) -> TokenStream {
    let malformed = quote!(return ::core::result::Result::Err(derived::malformed::<Self>(bytes)));
    let read = of_rest(shapes, |shape| shape.read(false), &malformed);
    let skipped = of_rest(
        shapes,
        |shape| {
            let skipped = Shape::skipped(&shape.fields);
            quote!({ #skipped })
        },
        &malformed,
    );
    // What is no such key stays what it is.
    let as_part = of_number(shapes, |shape| match shape.fields.last() {
        Some(Field { of, span, .. }) => {
            let parted = shape.parted();
            let last = quote_spanned!(*span=> <#of as derived::Key>::as_part(last, out));
            quote!(match #parted {
                ::core::result::Result::Ok((firsts, last)) => {
                    out.extend_from_slice(firsts);
                    #last;
                }
                ::core::result::Result::Err(_) => out.extend_from_slice(bytes),
            })
        }
        None => quote!({
            out.extend_from_slice(bytes);
        }),
    });
    let alone = of_number(shapes, |shape| match shape.fields.last() {
        Some(Field { of, span, .. }) => {
            let parted = shape.parted();
            let last = quote_spanned!(*span=> <#of as derived::Key>::alone(last, out)?);
            quote!({
                let (firsts, last) = #parted?;
                out.extend_from_slice(firsts);
                #last;
            })
        }
        None => quote!({
            out.extend_from_slice(bytes);
        }),
    });
    let hash = of_rest(shapes, |shape| shape.hashed(true), &quote!(0));
    let hash_of_part = of_rest(
        shapes,
        |shape| shape.hashed(false),
        &quote!(return ::core::result::Result::Err(derived::malformed::<Self>(rest))),
    );
    let first = first(shapes);
    quote! {
        const _: () = {
            use ::gerbil_mapreduce::derived;

            #[automatically_derived]
            impl derived::Key for #name {
                type Part<'a> = Self;

                fn part<'a>(rest: &mut &'a [u8]) -> derived::Result<Self> {
                    let bytes: &'a [u8] = rest;
                    ::core::result::Result::Ok(#read)
                }

                fn part_length(bytes: &[u8]) -> derived::Result<usize> {
                    let rest = &mut { bytes };
                    #skipped
                    ::core::result::Result::Ok(bytes.len() - rest.len())
                }

                fn as_part(bytes: &[u8], out: &mut ::std::vec::Vec<u8>) {
                    #as_part
                }

                fn alone(bytes: &[u8], out: &mut ::std::vec::Vec<u8>) -> derived::Result<()> {
                    #alone
                    ::core::result::Result::Ok(())
                }

                fn java_hash(bytes: &[u8]) -> i32 {
                    let rest = &mut { bytes };
                    #hash
                }

                fn java_hash_of_part(rest: &mut &[u8]) -> derived::Result<i32> {
                    let hash = #hash_of_part;
                    ::core::result::Result::Ok(hash)
                }

                #first
            }
        };
    }
}

/// What `each` shape does with `bytes`, whose front it looks at itself; none of a variant goes on as it is.
fn of_number(shapes: &[Shape], each: impl Fn(&Shape) -> TokenStream) -> TokenStream {
    match shapes {
        [shape @ Shape { variant: None, .. }] => each(shape),
        _ => {
            let arms = shapes.iter().map(|shape| {
                let number = shape.variant.as_ref().map(|(number, _)| number);
                let made = each(shape);
                quote!(::core::option::Option::Some(#number) => #made,)
            });
            quote!(match bytes.first() { #(#arms)* _ => out.extend_from_slice(bytes) })
        }
    }
}

/// What makes the group of a key: the first of several fields, or the variant.
fn first(shapes: &[Shape]) -> Option<TokenStream> {
    match shapes {
        [
            Shape {
                variant: None,
                fields,
                ..
            },
        ] => {
            let [Field { of, span, .. }, _, ..] = fields.as_slice() else {
                return None;
            };
            let length = quote_spanned!(*span=> <#of as derived::Key>::part_length(bytes));
            let hash = quote_spanned!(*span=> <#of as derived::Key>::java_hash_of_part(&mut bytes));
            Some(quote! {
                fn first_length(bytes: &[u8]) -> derived::Result<usize> {
                    #length
                }

                fn first_hash(mut bytes: &[u8]) -> i32 {
                    #hash.unwrap_or_default()
                }
            })
        }
        _ => Some(quote! {
            fn first_length(bytes: &[u8]) -> derived::Result<usize> {
                derived::variant::<Self>(&mut { bytes }).map(|_| 1)
            }

            fn first_hash(bytes: &[u8]) -> i32 {
                derived::variant::<Self>(&mut { bytes }).map_or(0, |number| 31 + i32::from(number))
            }
        }),
    }
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
