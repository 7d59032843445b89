//! A struct, or a variant: the code that reads its fields, and that writes them.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Fields, Ident, Member, Type};

/// A struct, or one variant of an enum.
pub(super) struct Shape {
    /// What is in front of its fields.
    pub(super) path: TokenStream,
    /// Of a variant: its number, and its name.
    pub(super) variant: Option<(u8, String)>,
    pub(super) fields: Vec<Field>,
}

pub(super) struct Field {
    pub(super) member: Member,
    pub(super) of: Type,
    /// Where it is in the user's code, for what the compiler says of its type.
    pub(super) span: Span,
    /// What holds it while it is written.
    pub(super) name: Ident,
}

impl Shape {
    pub(super) fn new(path: TokenStream, variant: Option<(u8, String)>, fields: &Fields) -> Self {
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
    pub(super) fn firsts(&self) -> &[Field] {
        self.fields.split_last().map_or(&[], |(_, firsts)| firsts)
    }

    /// The fields of `rest`, of which the last one is all that is left, or ends as the others do.
    pub(super) fn read(&self, last_is_alone: bool) -> TokenStream {
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

    pub(super) fn text(&self) -> TokenStream {
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
    pub(super) fn written(&self, last_is_alone: bool) -> TokenStream {
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
    pub(super) fn skipped(fields: &[Field]) -> TokenStream {
        let fields = fields
            .iter()
            .map(|Field { of, span, .. }| quote_spanned!(*span=> derived::skip::<#of>(rest)?;));
        quote!(#(#fields)*)
    }

    /// What is in front of the last field, and that field, of `bytes`.
    pub(super) fn parted(&self) -> TokenStream {
        let number = self
            .variant
            .as_ref()
            .map(|_| quote!(derived::variant::<Self>(rest)?;));
        let firsts = Self::skipped(self.firsts());
        quote!(derived::parted(bytes, |rest| { #number #firsts ::core::result::Result::Ok(()) }))
    }

    /// The hash of `rest`: Java's of a list of the fields, behind the number of the variant; of a single field its own.
    pub(super) fn hashed(&self, last_is_alone: bool) -> TokenStream {
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
pub(super) fn of_rest(
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
