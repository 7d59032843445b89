//! The programs, and what each needs.

use std::path::PathBuf;

use anyhow::Result;
use object::Architecture;

use crate::made::{Lab, jar};

/// A program.
pub struct Program {
    pub name: String,
    pub path: PathBuf,
    /// What travels with it.
    pub shipped: Vec<PathBuf>,
    /// What its maps need.
    pub wanted: Option<&'static str>,
    /// It says so itself.
    pub declares: bool,
}

const GPU: Option<&str> = Some("gpu");
const FPGA: Option<&str> = Some("fpga");

/// All of them.
pub fn all(lab: &Lab) -> Result<Vec<Program>> {
    let mut all = Vec::new();
    linked(lab, &mut all)?;
    looked_up(lab, &mut all)?;
    plain(lab, &mut all)?;
    declared(lab, &mut all)?;
    scripts(lab, &mut all)?;
    jars(lab, &mut all)?;
    Ok(all)
}

fn add(all: &mut Vec<Program>, path: PathBuf, wanted: Option<&'static str>) {
    let name = path.file_name().unwrap_or_default();
    all.push(Program {
        name: name.to_string_lossy().into_owned(),
        path,
        shipped: Vec::new(),
        wanted,
        declares: false,
    });
}

/// A `main` that calls a function without arguments.
fn calls(function: &str) -> String {
    format!("int {function}(void); int main(void) {{ return {function}(); }}\n")
}

/// What `nvcc` leaves of its kernels in a program, and what they are registered with.
const FATBIN: &str = "__attribute__((section(\".nv_fatbin\"), used)) static const char code[64] = \"PTX\";\n\
    __attribute__((section(\".nvFatBinSegment\"), used)) static const void *wrapper = code;\n\
    int main(void) { return wrapper == 0; }\n";

fn linked(lab: &Lab, all: &mut Vec<Program>) -> Result<()> {
    for (name, function, library, wanted) in [
        ("cuda-runtime", "cudaLaunchKernel", "libcudart.so.12", GPU),
        ("cuda-driver", "cuInit", "libcuda.so.1", GPU),
        ("cublas", "cublasCreate_v2", "libcublas.so.12", GPU),
        ("opencl", "clGetPlatformIDs", "libOpenCL.so.1", GPU),
        ("hip", "hipMalloc", "libamdhip64.so.6", GPU),
        ("xrt", "xrtDeviceOpen", "libxrt_coreutil.so.2", FPGA),
        ("opae", "fpgaOpen", "libopae-c.so.2", FPGA),
    ] {
        let path = lab.c(name, &calls(function), &[library])?;
        add(all, lab.stripped(&path)?, wanted);
        add(all, path, wanted);
    }
    let fatbin = lab.c("nvcc", FATBIN, &[])?;
    add(all, lab.stripped(&fatbin)?, GPU);
    add(all, fatbin, GPU);
    add(all, lab.c("nvcc-static", FATBIN, &["-static"])?, GPU);
    let hip = FATBIN
        .replace(".nvFatBinSegment", ".hipFatBinSegment")
        .replace(".nv_fatbin", ".hip_fatbin");
    add(all, lab.c("hipcc", &hip, &[])?, GPU);
    let kernel = [(".nv_fatbin", &b"PTX"[..]), (".rodata", b"text")];
    add(
        all,
        lab.elf("nvcc-on-arm", Architecture::Aarch64, &kernel)?,
        GPU,
    );
    // A library of the program's own uses the device.
    let own = "int cudaMalloc(void); int distances(void) { return cudaMalloc(); }\n";
    let library = lab.library("libdistances.so", own, &["libcudart.so.12"])?;
    let unresolved = "-Wl,--unresolved-symbols=ignore-in-shared-libs";
    let near = [unresolved, "libdistances.so", "-Wl,-rpath,$ORIGIN"];
    add(all, lab.c("own-library", &calls("distances"), &near)?, GPU);
    let far = lab.c(
        "shipped-library",
        &calls("distances"),
        &[unresolved, "libdistances.so"],
    )?;
    add(all, far, GPU);
    if let Some(last) = all.last_mut() {
        last.shipped.push(library);
    }
    Ok(())
}

fn looked_up(lab: &Lab, all: &mut Vec<Program>) -> Result<()> {
    let opens = |text: &str| {
        format!(
            "#include <dlfcn.h>\nint main(void) {{ return dlopen({text:?}, RTLD_NOW) == 0; }}\n"
        )
    };
    add(all, lab.c("dlopen-cuda", &opens("libcuda.so.1"), &[])?, GPU);
    let opencl = lab.c("dlopen-opencl", &opens("libOpenCL.so"), &[])?;
    add(all, lab.stripped(&opencl)?, GPU);
    add(
        all,
        lab.c("dlopen-xrt", &opens("libxrt_coreutil.so.2"), &["-static"])?,
        FPGA,
    );
    let device =
        "#include <fcntl.h>\nint main(void) { return open(\"/dev/xdma0_h2c_0\", O_RDWR) < 0; }\n";
    add(all, lab.c("xdma", device, &[])?, FPGA);
    // Puts the name of the library together while it runs, as cudarc does.
    let names = "use std::ffi::CString;\nfn main() { let name = format!(\"lib{}.so\", std::env::args().nth(1).unwrap());\n\
        let function = b\"nvrtcCompileProgram\\0\"; println!(\"{name} {:?}\", function); }\n";
    add(
        all,
        lab.rust("names-of-functions", names, &["-Copt-level=2"])?,
        GPU,
    );
    let opens =
        "fn main() { println!(\"{}\", std::path::Path::new(\"libOpenCL.so\").exists()); }\n";
    add(
        all,
        lab.rust("rust-opencl", opens, &["-Copt-level=2", "-Cstrip=symbols"])?,
        GPU,
    );
    Ok(())
}

fn plain(lab: &Lab, all: &mut Vec<Program>) -> Result<()> {
    let hello = "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n";
    let path = lab.c("hello", hello, &[])?;
    add(all, lab.stripped(&path)?, None);
    add(all, path, None);
    add(all, lab.c("hello-static", hello, &["-static"])?, None);
    let sums = "#include <math.h>\n#include <pthread.h>\nstatic void *run(void *of) { return of; }\nint main(int n, char **v) \
        { pthread_t t; pthread_create(&t, 0, run, v); return (int)cos(n); }\n";
    add(all, lab.c("threads", sums, &["-lm", "-lpthread"])?, None);
    // Speaks of devices and uses none.
    let help = "#include <stdio.h>\nint main(void) { puts(\"--gpu is not supported; see CUDA and OpenCL\"); return 0; }\n";
    add(all, lab.c("help", help, &[])?, None);
    let alike = "int cuInitialize(void) { return 1; }\nint clCreateContextMenu(void) { return 2; }\nint main(void) { \
        return cuInitialize() + clCreateContextMenu(); }\n";
    add(all, lab.c("names-alike", alike, &["-rdynamic"])?, None);
    let own = "int cudaMalloc(void) { return 1; }\nint main(void) { return cudaMalloc(); }\n";
    // Its own function of such a name is no library's.
    add(all, lab.c("own-function", own, &["-rdynamic"])?, None);
    add(
        all,
        lab.rust("rust", "fn main() { println!(\"hello\"); }\n", &[])?,
        None,
    );
    let small = ["-Copt-level=3", "-Clto=fat", "-Cstrip=symbols"];
    add(
        all,
        lab.rust("rust-small", "fn main() { println!(\"hello\"); }\n", &small)?,
        None,
    );
    let text = [(".rodata", &b"nothing of interest"[..])];
    add(all, lab.elf("plain-386", Architecture::I386, &text)?, None);
    add(
        all,
        lab.text("perl", "#!/usr/bin/perl\nprint \"cupy\\n\";\n")?,
        None,
    );
    Ok(())
}

fn declared(lab: &Lab, all: &mut Vec<Program>) -> Result<()> {
    let module = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../container-launcher/mapreduce/src/needs.rs"
    );
    let job = |needs: &str, more: &str| {
        format!(
            "#[path = {module:?}]\nmod needs;\nstruct Words;\n{needs}\n{more}fn main() {{ more(); }}\n"
        )
    };
    let nothing = "fn more() {}\n";
    let cuda =
        "unsafe extern \"C\" { fn cudaMalloc() -> i32; }\nfn more() { unsafe { cudaMalloc(); } }\n";
    let library = format!("-Clink-arg={}", lab.at("libcudart.so.12").display());
    let small = [
        "-Copt-level=3",
        "-Clto=fat",
        "-Cstrip=symbols",
        "-Clink-arg=-Wl,--gc-sections",
    ];
    for (name, needs, more, options, wanted) in [
        (
            "says-gpu",
            "needs!(Words, map, \"gpu\");",
            nothing,
            &[][..],
            GPU,
        ),
        (
            "says-gpgpu",
            "needs!(Words, map, \"gpgpu\");",
            nothing,
            &small,
            GPU,
        ),
        (
            "says-fpga",
            "needs!(Words, map, \"fpga\");",
            nothing,
            &small,
            FPGA,
        ),
        (
            "says-a-type",
            "needs!(Words, map, \"acc/kmeans-map\");",
            nothing,
            &small,
            Some("acc/kmeans-map"),
        ),
        // What somebody says ends the search.
        (
            "says-cpu",
            "needs!(Words, map, \"cpu\");",
            cuda,
            &[library.as_str()],
            None,
        ),
    ] {
        add(all, lab.rust(name, &job(needs, more), options)?, wanted);
        if let Some(last) = all.last_mut() {
            last.declares = true;
        }
    }
    Ok(())
}

fn scripts(lab: &Lab, all: &mut Vec<Program>) -> Result<()> {
    for (name, text, wanted) in [
        ("cupy.py", "import sys\nimport cupy as cp\n", GPU),
        ("numba.py", "from numba import jit, cuda\n", GPU),
        (
            "pycuda.py",
            "import pycuda.autoinit\nfrom pycuda.compiler import SourceModule\n",
            GPU,
        ),
        (
            "torch.py",
            "import torch\nmodel = torch.nn.Linear(3, 4).cuda()\n",
            GPU,
        ),
        (
            "torch-device.py",
            "import torch\nx = torch.ones(3, device=\"cuda:0\")\n",
            GPU,
        ),
        ("opencl.py", "def main():\n    import pyopencl as cl\n", GPU),
        ("jax.py", "import jax.numpy as jnp\n", GPU),
        ("pynq.py", "from pynq import Overlay\n", FPGA),
        (
            "tried.py",
            "try:\n    import cupy as np\nexcept ImportError:\n    import numpy as np\n",
            GPU,
        ),
        ("numpy.py", "import numpy as np\nprint(np.ones(3))\n", None),
        (
            "torch-cpu.py",
            "import torch\nx = torch.ones(3)  # .cuda() is slower here\n",
            None,
        ),
        (
            "comment.py",
            "# import cupy\n\"\"\"\nimport cupy\n\"\"\"\nprint('import cupy')\n",
            None,
        ),
        ("numba-cpu.py", "from numba import jit\n", None),
        ("python", "#!/usr/bin/env python3\nimport cupy\n", GPU),
        ("python-plain", "#!/usr/bin/python3 -u\nimport json\n", None),
        ("shell", "#!/bin/sh\nsort | uniq -c\n", None),
        ("shell-smi", "#!/bin/bash\nnvidia-smi -L\n./map\n", GPU),
    ] {
        add(all, lab.text(name, text)?, wanted);
    }
    let runs = lab.text(
        "shell-python",
        "#!/bin/sh\nexec python3 \"$PWD/mapper.py\" \"$@\"\n",
    )?;
    let mapper = lab.text("mapper.py", "import helper\n")?;
    let helper = lab.text("helper.py", "from numba import cuda\n")?;
    add(all, runs, GPU);
    if let Some(last) = all.last_mut() {
        last.shipped.extend([mapper, helper]);
    }
    Ok(())
}

fn jars(lab: &Lab, all: &mut Vec<Program>) -> Result<()> {
    let plain: (&str, &[&str]) = ("org/acme/Words", &["java/lang/Object", "map", "()V"]);
    let cuda: (&str, &[&str]) = ("org/acme/Gpu", &["jcuda/driver/JCudaDriver", "cuInit"]);
    let opencl: (&str, &[&str]) = ("org/acme/Cl", &["(Lorg/jocl/cl_context;)V"]);
    let manifest = [("META-INF/MANIFEST.MF", &b"Manifest-Version: 1.0\n"[..])];
    add(all, lab.jar("jcuda.jar", &[plain, cuda], &manifest)?, GPU);
    add(all, lab.jar("jocl.jar", &[plain, opencl], &manifest)?, GPU);
    add(all, lab.jar("plain.jar", &[plain], &manifest)?, None);
    let inner = jar(&[cuda], &[])?;
    add(
        all,
        lab.jar("within.jar", &[plain], &[("lib/gpu.jar", &inner)])?,
        GPU,
    );
    let named = [("README", &b"needs jcuda/ and org/jocl/"[..])];
    add(all, lab.jar("readme.jar", &[plain], &named)?, None);
    Ok(())
}
