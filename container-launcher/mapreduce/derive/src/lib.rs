//! The attribute [`macro@cluster_resource`], for `impl Mapper`, `impl Reducer` and `impl Combiner`, and keys and values of
//! one's own: [`macro@Key`], [`macro@Value`]; settings as a struct: [`macro@Options`].

mod layout;
mod options;

use proc_macro::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{Error, Item, ItemImpl, LitByteStr, LitStr, Type, parse_macro_input};

/// Says what the nodes must have that a mapper, reducer or combiner runs on: `cpu` (nothing), `gpu` or `gpgpu`,
/// `fpga`, or a type that the cluster counts.
///
/// It becomes the constant `NEED` of the trait, which a job's plan carries, and a line of JSON,
/// `{"stage":…,"type":…,"need":…}`, in the executable's section `gerbil_needs`, which is found without running it.
///
/// ```ignore
/// #[cluster_resource("gpgpu")]
/// impl Mapper for Distances {
///     // as any other
/// }
/// ```
#[proc_macro_attribute]
pub fn cluster_resource(need: TokenStream, on: TokenStream) -> TokenStream {
    let need = parse_macro_input!(need as LitStr);
    let on = parse_macro_input!(on as ItemImpl);
    expanded(&need, on)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Makes a struct or enum a key, and a value, too: it is emitted and handed to user code as it is, and its bytes are in the
/// order of its fields, or of its variants and then of theirs.
///
/// ```ignore
/// #[derive(Key)]
/// struct Visit { site: String, at: u64 }
/// ```
#[proc_macro_derive(Key)]
pub fn key(item: TokenStream) -> TokenStream {
    derived(layout::Of::Key, item)
}

/// Makes a struct or enum a value, whose fields are keys, and the last one any value. What is a key needs no more than
/// [`macro@Key`].
///
/// ```ignore
/// #[derive(Value)]
/// struct Times { count: u64, longest: f64 }
/// ```
#[proc_macro_derive(Value)]
pub fn value(item: TokenStream) -> TokenStream {
    derived(layout::Of::Value, item)
}

/// Makes a struct the options of a job, which are settings: each field has a key, its name with dots for underscores unless
/// `#[setting("…")]` says another, and may have a `default`.
///
/// ```ignore
/// #[derive(Options)]
/// struct Terms {
///     /// Shorter words are not counted.
///     #[setting("words.least", default = 1)]
///     least: usize,
///     only: Option<String>,
/// }
/// ```
#[proc_macro_derive(Options, attributes(setting))]
pub fn options(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as Item);
    options::options(&item)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

fn derived(of: layout::Of, item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as Item);
    layout::derived(of, &item)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

fn expanded(need: &LitStr, mut on: ItemImpl) -> Result<proc_macro2::TokenStream, Error> {
    let label = need.value();
    let is_label = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if label.is_empty() || !label.chars().all(is_label) {
        return Err(Error::new(
            need.span(),
            "cpu, gpu, fpga, or a type that the cluster counts, such as acc/kmeans-map, is wanted",
        ));
    }
    let of_which = "this stands on an impl of Mapper, Reducer or Combiner";
    let name = on
        .trait_
        .as_ref()
        .and_then(|(name, _)| name.segments.last());
    let name = name.map(|segment| segment.ident.to_string());
    let stage = match name.as_deref() {
        Some("Mapper") => "map",
        Some("Reducer") => "reduce",
        Some("Combiner") => "combine",
        _ => return Err(Error::new_spanned(&on.self_ty, of_which)),
    };
    let Type::Path(of) = &*on.self_ty else {
        return Err(Error::new_spanned(&on.self_ty, of_which));
    };
    let of = of
        .path
        .segments
        .last()
        .map(|segment| segment.ident.to_string());
    let line = format!(
        "{{\"stage\":\"{stage}\",\"type\":\"{}\",\"need\":\"{label}\"}}\n",
        of.unwrap_or_default()
    );
    let length = line.len();
    let line = LitByteStr::new(line.as_bytes(), need.span());
    on.items.push(syn::parse_quote! {
        const NEED: ::core::option::Option<&'static str> = ::core::option::Option::Some(#need);
    });
    let on = on.into_token_stream();
    Ok(quote! {
        #on

        const _: () = {
            #[used]
            #[allow(unsafe_code, reason = "a section of its own; nothing is read through it")]
            #[unsafe(link_section = "gerbil_needs")]
            static LINE: [u8; #length] = *#line;
        };
    })
}
