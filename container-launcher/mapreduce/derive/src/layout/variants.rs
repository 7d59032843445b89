//! The variants of an enum, numbered as they are declared.

use quote::quote;
use syn::ext::IdentExt as _;
use syn::{Error, Expr, ItemEnum, Lit, UnOp, Variant};

use super::Of;
use super::shape::Shape;

/// Variants that a byte tells apart.
const VARIANTS: usize = 256;

pub(super) fn variants(of: Of, item: &ItemEnum) -> Result<Vec<Shape>, Error> {
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
