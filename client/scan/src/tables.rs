//! What tells that code uses a device.

use std::fmt;

/// What some nodes have and others do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    /// A GPU, of whatever maker.
    Gpu,
    /// An FPGA.
    Fpga,
}

use Element::{Fpga, Gpu};

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Gpu => "gpu",
            Fpga => "fpga",
        })
    }
}

/// Sections with device code.
pub const SECTIONS: &[(&str, Element)] = &[
    (".nv_fatbin", Gpu),
    (".nvFatBinSegment", Gpu),
    ("__nv_relfatbin", Gpu),
    (".hip_fatbin", Gpu),
    (".hipFatBinSegment", Gpu),
];

/// Beginnings of names of libraries.
pub const LIBRARIES: &[(&str, Element)] = &[
    ("libcuda.so", Gpu),
    ("libcudart.so", Gpu),
    ("libcublas", Gpu),
    ("libcufft", Gpu),
    ("libcurand", Gpu),
    ("libcusparse", Gpu),
    ("libcusolver", Gpu),
    ("libcudnn", Gpu),
    ("libnvrtc", Gpu),
    ("libOpenCL.so", Gpu),
    ("libamdhip64", Gpu),
    ("libhiprtc", Gpu),
    ("librocblas", Gpu),
    ("libze_loader", Gpu),
    ("libxrt_", Fpga),
    ("libopae-c", Fpga),
];

/// Symbols that a program wants of such a library.
pub const SYMBOLS: &[(&str, Element)] = &[
    ("cuInit", Gpu),
    ("cuCtxCreate_v2", Gpu),
    ("cuLaunchKernel", Gpu),
    ("cuModuleLoadData", Gpu),
    ("cudaGetDeviceCount", Gpu),
    ("cudaLaunchKernel", Gpu),
    ("cudaMalloc", Gpu),
    ("cudaMemcpy", Gpu),
    ("cudaSetDevice", Gpu),
    ("cudaStreamCreate", Gpu),
    ("cublasCreate_v2", Gpu),
    ("nvrtcCompileProgram", Gpu),
    ("clBuildProgram", Gpu),
    ("clCreateContext", Gpu),
    ("clEnqueueNDRangeKernel", Gpu),
    ("clGetPlatformIDs", Gpu),
    ("hipInit", Gpu),
    ("hipLaunchKernel", Gpu),
    ("hipMalloc", Gpu),
    ("zeInit", Gpu),
    ("xclOpen", Fpga),
    ("xrtDeviceOpen", Fpga),
    ("xrtKernelOpen", Fpga),
    ("fpgaEnumerate", Fpga),
    ("fpgaOpen", Fpga),
];

/// Strings of programs that look such a library up while they run, or open a device themselves. Some that do put its
/// name together then, and have names of functions alone.
pub const STRINGS: &[(&str, Element)] = &[
    ("libcuda.so", Gpu),
    ("libcudart.so", Gpu),
    ("cuLaunchKernel", Gpu),
    ("cuModuleLoadData", Gpu),
    ("nvrtcCompileProgram", Gpu),
    ("libOpenCL.so", Gpu),
    ("clEnqueueNDRangeKernel", Gpu),
    ("libamdhip64.so", Gpu),
    ("hipModuleLaunchKernel", Gpu),
    ("libxrt_core", Fpga),
    ("xrtDeviceOpen", Fpga),
    ("libopae-c.so", Fpga),
    ("/dev/xdma", Fpga),
];

/// Python's modules, which stand for all below them.
pub const MODULES: &[(&str, Element)] = &[
    ("cupy", Gpu),
    ("cupyx", Gpu),
    ("numba.cuda", Gpu),
    ("pycuda", Gpu),
    ("pyopencl", Gpu),
    ("jax", Gpu),
    ("cudf", Gpu),
    ("cuml", Gpu),
    ("cuda", Gpu),
    ("pynq", Fpga),
    ("pyxrt", Fpga),
];

/// Beginnings of names of Java's classes, as classes have them.
pub const CLASSES: &[(&str, Element)] = &[
    ("jcuda/", Gpu),
    ("org/jocl/", Gpu),
    ("com/nvidia/", Gpu),
    ("com/jogamp/opencl/", Gpu),
    ("com/aparapi/", Gpu),
    ("org/bytedeco/cuda/", Gpu),
    ("com/xilinx/", Fpga),
];

/// What a name that begins as one of `table` stands for.
#[must_use]
pub fn beginning(table: &[(&str, Element)], name: &str) -> Option<Element> {
    let mut known = table.iter();
    known
        .find(|(known, _)| name.starts_with(known))
        .map(|(_, element)| *element)
}

/// What a name that is one of `table` stands for.
#[must_use]
pub fn exactly(table: &[(&str, Element)], name: &str) -> Option<Element> {
    let mut known = table.iter();
    known
        .find(|(known, _)| *known == name)
        .map(|(_, element)| *element)
}
