//! What a derived key is beside a value: parts in order, groups, hashes.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Ident;

use super::shape::{Field, Shape, of_rest};

pub(super) fn key(name: &Ident, shapes: &[Shape]) -> TokenStream {
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
