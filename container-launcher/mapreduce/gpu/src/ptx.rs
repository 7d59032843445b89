//! The parameters of kernels, read from their PTX: CUDA's driver reads as many arguments as a kernel has parameters,
//! however many it is handed, so they are counted before.
//!
//! ```text
//! .visible .entry multiply(
//!     .param .u64 .ptr .align 1 multiply_param_0,
//!     .param .u32 multiply_param_1
//! )
//! ```

use std::collections::BTreeMap;

/// Bytes of each parameter, by the kernel's name.
pub(crate) type Parameters = BTreeMap<String, Vec<usize>>;

/// Those of every kernel in `ptx`. A parameter that is no number, such as a struct, counts 0 bytes: no argument fits it.
pub(crate) fn parameters(ptx: &str) -> Parameters {
    let mut kernels = Parameters::new();
    let mut rest = ptx;
    while let Some((_, entry)) = rest.split_once(".entry ") {
        let name_ends = entry.find(|c: char| c.is_whitespace() || c == '(' || c == '{');
        let (name, after) = entry.split_at(name_ends.unwrap_or(entry.len()));
        // A kernel without parameters may have no list of them: its body begins instead.
        let list = after.trim_start().strip_prefix('(');
        let list = list.and_then(|list| list.split_once(')'));
        let (list, after) = list.unwrap_or(("", after));
        let each = list.split(',').filter(|one| one.contains(".param"));
        kernels.insert(name.to_owned(), each.map(bytes).collect());
        rest = after;
    }
    kernels
}

/// Of one parameter: `.param .u64 .ptr .align 1 NAME`, or `.param .align 8 .b8 NAME[24]`.
fn bytes(parameter: &str) -> usize {
    if parameter.contains('[') {
        return 0;
    }
    let size = parameter.split_whitespace().find_map(|word| {
        let bits = word
            .strip_prefix(['.'])?
            .strip_prefix(['u', 's', 'b', 'f'])?;
        bits.parse::<usize>().ok()
    });
    size.unwrap_or(0) / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_those_that_nvrtc_writes() {
        // As NVRTC 13.0 writes them, and as older ones do, without `.ptr`.
        let ptx = r"
.version 9.0
.target sm_90
.address_size 64

	// .globl	multiply

.visible .entry multiply(
	.param .u64 .ptr .align 1 multiply_param_0,
	.param .u64 multiply_param_1,
	.param .u32 multiply_param_2,
	.param .f32 multiply_param_3
)
.maxntid 64
{
	.reg .pred 	%p<2>;
	ret;
}
.visible .entry nothing()
{
	ret;
}
.entry bare
{ ret; }
.visible .entry whole(
	.param .align 8 .b8 whole_param_0[24],
	.param .u8 whole_param_1
)
{ ret; }
";
        let found = parameters(ptx);
        let of = |name: &str| found.get(name).map(Vec::as_slice);
        assert_eq!(of("multiply"), Some(&[8, 8, 4, 4][..]));
        assert_eq!(of("nothing"), Some(&[][..]));
        assert_eq!(of("bare"), Some(&[][..]));
        assert_eq!(of("whole"), Some(&[0, 1][..]));
        assert_eq!(found.len(), 4);
        assert_eq!(parameters("").len(), 0);
        assert_eq!(parameters(".entry ").len(), 1);
    }
}
