//! A struct whose fields are settings.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, Expr, Fields, GenericArgument, Ident, Item, Lit, LitStr, Meta};
use syn::{PathArguments, Token, Type};

/// What `#[setting(…)]` says of a field.
#[derive(Default)]
struct Said {
    key: Option<LitStr>,
    default: Option<Expr>,
}

impl Parse for Said {
    fn parse(input: ParseStream<'_>) -> Result<Self, Error> {
        let mut said = Self::default();
        while !input.is_empty() {
            if input.peek(LitStr) {
                said.key = Some(input.parse()?);
            } else {
                let word: Ident = input.parse()?;
                if word != "default" {
                    return Err(Error::new(
                        word.span(),
                        "a setting has a key, \"words.least\", and default = VALUE",
                    ));
                }
                input.parse::<Token![=]>()?;
                said.default = Some(input.parse()?);
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(said)
    }
}

pub(crate) fn options(item: &Item) -> Result<TokenStream, Error> {
    let wanted = "options are a struct with named fields and without parameters";
    let Item::Struct(item) = item else {
        return Err(Error::new_spanned(item, wanted));
    };
    let Fields::Named(fields) = &item.fields else {
        return Err(Error::new_spanned(&item.ident, wanted));
    };
    if !item.generics.params.is_empty() {
        return Err(Error::new_spanned(&item.generics, wanted));
    }
    let (mut read, mut keys) = (Vec::new(), Vec::new());
    for field in &fields.named {
        let Some(name) = &field.ident else { continue };
        let said = said(&field.attrs)?;
        let key = match said.key {
            Some(key) => key,
            None => LitStr::new(
                &name.to_string().trim_start_matches("r#").replace('_', "."),
                name.span(),
            ),
        };
        let meaning = meaning(&field.attrs);
        let optional = optional(&field.ty);
        let of = optional.unwrap_or(&field.ty);
        let (value, default) = match (&said.default, optional) {
            (Some(default), Some(_)) => {
                return Err(Error::new_spanned(
                    default,
                    "an Option without a value is None: it has no other default",
                ));
            }
            (None, Some(_)) => (
                quote!(OptionKey::given::<#of>(settings, #key)?),
                quote!(Some("")),
            ),
            (Some(default), None) => {
                let shown = shown(default);
                let default = match text(default) {
                    Some(text) => quote!(<#of as ::core::convert::From<&str>>::from(#text)),
                    None => default.to_token_stream(),
                };
                let given = quote!(OptionKey::given::<#of>(settings, #key)?);
                let value = quote!(match #given { Some(value) => value, None => #default });
                (value, quote!(Some(#shown)))
            }
            (None, None) => (
                quote!(OptionKey::needed::<#of>(settings, #key, #meaning)?),
                quote!(None),
            ),
        };
        read.push(quote!(#name: #value));
        keys.push(quote!(OptionKey::of::<#of>(#key, #meaning, #default)));
    }
    let name = &item.ident;
    Ok(quote! {
        const _: () = {
            use ::core::option::Option::{None, Some};
            use ::gerbil_mapreduce::OptionKey;

            #[automatically_derived]
            impl ::gerbil_mapreduce::Options for #name {
                fn of(settings: &::gerbil_mapreduce::Settings) -> ::gerbil_mapreduce::Result<Self> {
                    ::core::result::Result::Ok(Self { #(#read),* })
                }

                fn keys() -> ::std::vec::Vec<OptionKey> {
                    ::std::vec![#(#keys),*]
                }
            }
        };
    })
}

/// All attributes together.
fn said(attributes: &[Attribute]) -> Result<Said, Error> {
    let mut all = Said::default();
    for attribute in attributes.iter().filter(|of| of.path().is_ident("setting")) {
        let said: Said = attribute.parse_args()?;
        all.key = said.key.or(all.key);
        all.default = said.default.or(all.default);
    }
    Ok(all)
}

/// The first lines of the field's documentation, as one.
fn meaning(attributes: &[Attribute]) -> String {
    let line = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => text(&pair.value).map(LitStr::value),
        _ => None,
    };
    let lines = attributes.iter().filter_map(line);
    let lines: Vec<String> = lines.map(|line| line.trim().to_owned()).collect();
    let first = lines.split(String::is_empty).next().unwrap_or_default();
    first.join(" ")
}

/// What an `Option` is one of.
fn optional(of: &Type) -> Option<&Type> {
    let Type::Path(path) = of else { return None };
    let last = path.path.segments.last()?;
    match &last.arguments {
        PathArguments::AngleBracketed(of) if last.ident == "Option" => match of.args.first() {
            Some(GenericArgument::Type(of)) => Some(of),
            _ => None,
        },
        _ => None,
    }
}

/// The text that an expression is.
fn text(of: &Expr) -> Option<&LitStr> {
    match of {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// A default, as the help shows it.
fn shown(default: &Expr) -> String {
    match text(default) {
        Some(text) => text.value(),
        None => default.to_token_stream().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use syn::{Item, parse_quote};

    use super::options;

    #[test]
    fn what_is_no_struct_of_settings_is_refused_in_a_sentence() {
        let said = |item: Item| options(&item).unwrap_err().to_string();
        let wanted = "options are a struct with named fields and without parameters";
        assert_eq!(
            said(parse_quote!(
                enum Terms {
                    One,
                }
            )),
            wanted
        );
        assert_eq!(
            said(parse_quote!(
                struct Terms(u64);
            )),
            wanted
        );
        assert_eq!(
            said(parse_quote!(
                struct Terms<T> {
                    of: T,
                }
            )),
            wanted
        );
        let odd = said(parse_quote!(
            struct Terms {
                #[setting(defaults = 3)]
                least: u64,
            }
        ));
        assert!(odd.starts_with("a setting has a key"), "{odd}");
        let both = said(parse_quote!(
            struct Terms {
                #[setting(default = 3)]
                least: Option<u64>,
            }
        ));
        assert!(both.starts_with("an Option without a value"), "{both}");
    }

    #[test]
    fn keys_and_meanings_are_those_of_the_fields() {
        let said = options(&parse_quote!(
            struct Terms {
                /// Shorter words are
                /// not counted.
                ///
                /// More of it.
                word_least: usize,
                #[setting("my.own", default = "a b")]
                text: String,
            }
        ));
        let said = said.unwrap().to_string();
        for part in [
            "\"word.least\" , \"Shorter words are not counted.\"",
            "\"my.own\" , \"\" , Some (\"a b\")",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}
