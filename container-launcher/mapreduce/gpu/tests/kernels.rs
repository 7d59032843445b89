//! What kernels compute, never how fast: on a GPU by CUDA where the machine has one, otherwise by PoCL, which runs OpenCL
//! on the machine's processors.

use gerbil_gpu::{Argument, Device, Grid, Program};

#[cfg(test)]
const MATRIX: &str = include_str!("../../examples/matrix/multiply.k");
#[cfg(test)]
const DNSLOG: &str = include_str!("../../examples/dnslog/count.k");

#[cfg(test)]
fn device() -> Device {
    let opened = Device::open("0", true);
    opened.unwrap_or_else(|error| {
        panic!(
            "{error}: these tests need a GPU, or PoCL: apt-get install pocl-opencl-icd ocl-icd-libopencl1"
        )
    })
}

/// What `device` says by CUDA, or by OpenCL.
#[cfg(test)]
fn of_api<'a>(device: &Device, cuda: &'a str, opencl: &'a str) -> &'a str {
    match device.api() {
        "CUDA" => cuda,
        _ => opencl,
    }
}

/// As tests launch: with arguments that are as long as they are said to be.
#[cfg(test)]
#[expect(unsafe_code, reason = "a kernel is C")]
fn launch(
    device: &Device,
    program: &Program,
    name: &str,
    threads: u64,
    arguments: &[Argument<'_>],
) {
    // SAFETY: the callers hand over memory of the lengths that they tell.
    unsafe { device.launch(program, name, Grid::of(threads).unwrap(), arguments) }.unwrap();
}

/// Numbers that differ, the same each time.
#[cfg(test)]
fn numbers(count: usize) -> impl Iterator<Item = u32> {
    let mut state = 1_u32;
    (0..count).map(move |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    })
}

#[test]
fn a_product_of_floats_is_that_of_the_processor() {
    let device = device();
    let program = device.compile(MATRIX).unwrap();
    let (rows, columns) = (37_usize, 150_usize);
    let floats = |count: usize| -> Vec<f32> {
        let parts = numbers(count).map(|number| f32::from(u16::try_from(number & 0xFFFF).unwrap()));
        parts.map(|part| part / 65536.0).collect()
    };
    let (left, right) = (floats(rows * columns), floats(columns * columns));
    let (on_left, on_right) = (
        device.upload(&left).unwrap(),
        device.upload(&right).unwrap(),
    );
    let product = device.zeros::<f32>(rows * columns).unwrap();
    let arguments = [
        on_left.argument(),
        on_right.argument(),
        product.argument(),
        Argument::U32(37),
        Argument::U32(150),
    ];
    launch(&device, &program, "multiply", 37 * 150, &arguments);
    let product = device.download(&product).unwrap();
    let mut farthest = 0.0_f32;
    for (row, sums) in left.chunks(columns).zip(product.chunks(columns)) {
        for (column, sum) in sums.iter().enumerate() {
            let wanted: f64 = (0..columns)
                .map(|k| f64::from(row[k]) * f64::from(right[k * columns + column]))
                .sum();
            let off = (f64::from(*sum) - wanted).abs() / wanted;
            assert!(off < 1e-5, "{sum} {wanted}");
            // Each step as C says it, so that nothing is rounded otherwise.
            let steps = (0..columns).fold(0.0_f32, |sum, k| {
                row[k].mul_add(right[k * columns + column], sum)
            });
            farthest = farthest.max((sum - steps).abs());
        }
    }
    assert!(farthest.to_bits() == 0, "{farthest}");
}

#[test]
fn counts_are_the_processors() {
    let device = device();
    let program = device.compile(DNSLOG).unwrap();
    let (width, buckets) = (100_u32, 50_u32);
    let servers: Vec<u32> = numbers(10_000).map(|number| number % 13).collect();
    let times: Vec<u32> = numbers(10_000)
        .map(|number| match number % 9 {
            0 => u32::MAX,
            _ => number % 6_000,
        })
        .collect();
    let of = usize::try_from(buckets + 2).unwrap();
    let mut wanted = vec![0_u32; 13 * of];
    for (server, time) in servers.iter().zip(&times) {
        let bucket = match *time {
            u32::MAX => buckets + 1,
            time => (time / width).min(buckets),
        };
        wanted[usize::try_from(*server).unwrap() * of + usize::try_from(bucket).unwrap()] += 1;
    }
    assert!(wanted[of - 1] > 0 && wanted[of - 2] > 0);
    let (on_servers, on_times) = (
        device.upload(&servers).unwrap(),
        device.upload(&times).unwrap(),
    );
    let counts = device.zeros::<u32>(wanted.len()).unwrap();
    let arguments = [
        on_servers.argument(),
        on_times.argument(),
        Argument::U32(10_000),
        Argument::U32(width),
        Argument::U32(buckets),
        counts.argument(),
    ];
    launch(&device, &program, "count", 10_000, &arguments);
    assert_eq!(device.download(&counts).unwrap(), wanted);
}

#[test]
fn every_word_of_the_dialect_does_what_it_says() {
    const SOURCE: &str = r"
KERNEL(turn_round)(GLOBAL const int *from, GLOBAL int *to, GLOBAL uint *groups, ulong more, float factor, int less) {
    SHARED int near[64];
    near[LOCAL] = from[THREAD];
    BARRIER;
    to[THREAD] = near[63 - LOCAL] * (int)FMA(factor, 2.0f, 1.0f) + (int)more - less;
    if (LOCAL == 0) ADD(&groups[GROUP], 1u + GROUP);
}
";
    let device = device();
    let program = device.compile(SOURCE).unwrap();
    let from: Vec<i32> = (0..128).collect();
    let (on, to) = (
        device.upload(&from).unwrap(),
        device.zeros::<i32>(128).unwrap(),
    );
    let groups = device.zeros::<u32>(2).unwrap();
    let arguments = [
        on.argument(),
        to.argument(),
        groups.argument(),
        Argument::U64(10),
        Argument::F32(1.5),
        Argument::I32(-7),
    ];
    launch(&device, &program, "turn_round", 128, &arguments);
    let wanted: Vec<i32> = (0..64)
        .rev()
        .chain((64..128).rev())
        .map(|n| n * 4 + 17)
        .collect();
    assert_eq!(device.download(&to).unwrap(), wanted);
    assert_eq!(device.download(&groups).unwrap(), [1, 2]);
    let mut none = device.upload::<u8>(&[]).unwrap();
    device.write(&mut none, &[]).unwrap();
    assert_eq!(device.download(&none).unwrap(), Vec::<u8>::new());
    let mut three = device.upload(&[1_u32, 2, 3]).unwrap();
    device.write(&mut three, &[7, 8]).unwrap();
    assert_eq!(device.download(&three).unwrap(), [7, 8, 3]);
    let too_many = device.write(&mut three, &[0; 4]).unwrap_err();
    assert_eq!(
        too_many.to_string(),
        "4 numbers do not fit into memory of 3"
    );
    let mut two = [0; 2];
    device.read(&three, &mut two).unwrap();
    assert_eq!(two, [7, 8]);
    device.read(&three, &mut []).unwrap();
    let too_many = device.read(&three, &mut [0; 4]).unwrap_err();
    assert_eq!(too_many.to_string(), "4 numbers are asked of memory of 3");
}

#[test]
#[expect(unsafe_code, reason = "a kernel is C")]
fn what_is_wrong_is_said() {
    let device = device();
    let refused = device
        .compile("KERNEL(a)(int b) { return c; }")
        .unwrap_err();
    let words = refused.to_string();
    let compiler = of_api(&device, "NVRTC", "OpenCL's compiler");
    let unknown = of_api(&device, "\"c\" is undefined", "'c'");
    assert!(
        words.contains(compiler) && words.contains(unknown),
        "{words}"
    );
    let program = device
        .compile("KERNEL(a)(int b) { } KERNEL(none)() { }")
        .unwrap();
    let refused = |name: &str, arguments: &[Argument<'_>]| {
        let grid = Grid::of(1).unwrap();
        // SAFETY: no kernel is run, or it does nothing.
        let launched = unsafe { device.launch(&program, name, grid, arguments) };
        launched.unwrap_err().to_string()
    };
    let (one, wide) = (Argument::I32(1), Argument::U64(2));
    let no_kernel = refused("b", &[one]);
    let call = of_api(
        &device,
        "cuModuleGetFunction of b: CUDA error 500",
        "clCreateKernel of b: OpenCL error -46",
    );
    assert!(no_kernel.contains(call), "{no_kernel}");
    for (name, parameters, arguments) in [
        ("a", 1, &[one, one][..]),
        ("a", 1, &[]),
        ("none", 0, &[one]),
    ] {
        let given = arguments.len();
        assert_eq!(
            refused(name, arguments),
            format!(
                "the kernel {name} has {parameters} parameters, and is handed {given} arguments"
            )
        );
    }
    let too_wide = refused("a", &[wide]);
    assert!(
        too_wide.contains("argument 0 of the kernel a"),
        "{too_wide}"
    );
    launch(&device, &program, "none", 1, &[]);
    // There is no thousandth.
    let missing = Device::open("1000", true).unwrap_err();
    assert!(missing.is_no_device(), "{missing}");
    assert!(missing.to_string().contains("number 1000"), "{missing}");
    let unknown = Device::open("GPU-00000000-0000-0000-0000-000000000000", true).unwrap_err();
    assert!(unknown.is_no_device(), "{unknown}");
}

#[test]
fn what_does_not_fit_a_device_is_said() {
    let device = device();
    let refused = device.zeros::<u8>(1 << 50).unwrap_err();
    let words = refused.to_string();
    assert!(refused.is_no_room() && !refused.is_no_device(), "{words}");
    let gives = of_api(&device, " MiB free)", " MiB at once)");
    assert!(
        words.starts_with("1073741824 MiB do not fit ") && words.contains(gives),
        "{words}"
    );
    assert!(device.zeros::<u64>(usize::MAX).is_err());
    let zeros = device.zeros::<u32>(1000).unwrap();
    assert_eq!(device.download(&zeros).unwrap(), vec![0; 1000]);
}

/// Quotients and roots are rounded once, as the processor does it, where the device can.
#[test]
fn a_quotient_and_a_root_are_the_processors() {
    const SOURCE: &str = r"
KERNEL(divide)(GLOBAL const float *over, GLOBAL const float *under, GLOBAL float *to, uint count) {
    if (THREAD < count) to[THREAD] = over[THREAD] / under[THREAD];
}
KERNEL(root)(GLOBAL const float *from, GLOBAL float *to, uint count) {
    if (THREAD < count) to[THREAD] = sqrt(from[THREAD]);
}
";
    let device = device();
    let program = device.compile(SOURCE).unwrap();
    let floats: Vec<f32> = numbers(20_000).map(|number| (number + 1) as f32).collect();
    let (over, under) = floats.split_at(10_000);
    let (on_over, on_under) = (device.upload(over).unwrap(), device.upload(under).unwrap());
    let to = device.zeros::<f32>(10_000).unwrap();
    let count = Argument::U32(10_000);
    let arguments = [
        on_over.argument(),
        on_under.argument(),
        to.argument(),
        count,
    ];
    launch(&device, &program, "divide", 10_000, &arguments);
    let wanted: Vec<u32> = over
        .iter()
        .zip(under)
        .map(|(a, b)| (a / b).to_bits())
        .collect();
    let bits = |numbers: Vec<f32>| -> Vec<u32> { numbers.into_iter().map(f32::to_bits).collect() };
    assert_eq!(bits(device.download(&to).unwrap()), wanted);
    let arguments = [on_over.argument(), to.argument(), count];
    launch(&device, &program, "root", 10_000, &arguments);
    let wanted: Vec<u32> = over.iter().map(|a| a.sqrt().to_bits()).collect();
    assert_eq!(bits(device.download(&to).unwrap()), wanted);
}
