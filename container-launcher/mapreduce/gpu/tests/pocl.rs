//! Kernels on PoCL, which runs OpenCL on the machine's processors: what they compute, never how fast.

use gerbil_gpu::{Argument, Device, Grid, Program};

#[cfg(test)]
const MATRIX: &str = include_str!("../../examples/matrix/multiply.k");
#[cfg(test)]
const DNSLOG: &str = include_str!("../../examples/dnslog/count.k");

#[cfg(test)]
fn device() -> Device {
    let opened = Device::open("0", true);
    let device = opened.unwrap_or_else(|error| {
        panic!("{error}: these tests need PoCL, apt-get install pocl-opencl-icd ocl-icd-libopencl1")
    });
    assert_eq!(device.api(), "OpenCL");
    device
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
    let none = device.upload::<u8>(&[]).unwrap();
    assert_eq!(device.download(&none).unwrap(), Vec::<u8>::new());
}

#[test]
#[expect(unsafe_code, reason = "a kernel is C")]
fn what_is_wrong_is_said() {
    let device = device();
    let refused = device
        .compile("KERNEL(a)(int b) { return c; }")
        .unwrap_err();
    let words = refused.to_string();
    assert!(
        words.contains("OpenCL's compiler") && words.contains("'c'"),
        "{words}"
    );
    let program = device.compile("KERNEL(a)(int b) { }").unwrap();
    let grid = Grid::of(1).unwrap();
    // SAFETY: neither kernel is run.
    let (no_kernel, too_many) = unsafe {
        let two = [Argument::I32(1), Argument::I32(2)];
        (
            device
                .launch(&program, "b", grid, &two[..1])
                .unwrap_err()
                .to_string(),
            device
                .launch(&program, "a", grid, &two)
                .unwrap_err()
                .to_string(),
        )
    };
    assert!(
        no_kernel.contains("clCreateKernel of b: OpenCL error -46"),
        "{no_kernel}"
    );
    assert_eq!(
        too_many,
        "the kernel a has 1 parameters, and is handed 2 arguments"
    );
    // Processors are no GPUs unless that is wanted, and there is no thousandth.
    let missing = Device::open("1000", true).unwrap_err();
    assert!(missing.is_no_device(), "{missing}");
    assert!(
        missing.to_string().contains("none of number 1000"),
        "{missing}"
    );
}

/// PoCL's own setting: how much memory its devices have, GiB.
#[cfg(test)]
const MEMORY_LIMIT: &str = "POCL_MEMORY_LIMIT";

#[test]
fn what_does_not_fit_a_device_is_said() {
    // PoCL reads it once, so this test is run again by itself.
    if std::env::var_os(MEMORY_LIMIT).is_none() {
        let own = std::env::current_exe().unwrap();
        let again = std::process::Command::new(own)
            .args(["--exact", "what_does_not_fit_a_device_is_said"])
            .env(MEMORY_LIMIT, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&again.stdout);
        assert!(
            again.status.success() && said.contains("1 passed"),
            "{said}"
        );
        return;
    }
    let refused = device().zeros::<u8>(2 << 30).unwrap_err();
    let words = refused.to_string();
    assert!(refused.is_no_room() && !refused.is_no_device(), "{words}");
    assert!(
        words.starts_with("2048 MiB do not fit ") && words.contains(" MiB at once)"),
        "{words}"
    );
}
