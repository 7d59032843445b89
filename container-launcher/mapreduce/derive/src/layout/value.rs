//! What every derived type is: a value, which is read, printed and written.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Ident;

use super::Of;
use super::shape::{Shape, of_rest};

pub(super) fn value(name: &Ident, shapes: &[Shape]) -> TokenStream {
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

pub(super) fn encoded(of: Of, name: &Ident, shapes: &[Shape]) -> TokenStream {
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
