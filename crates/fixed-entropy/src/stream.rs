use std::cell::Cell;
use std::mem::MaybeUninit;

/// The increment of a stream. In SplitMix64: the golden gamma.
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// The random numbers of one thread: SplitMix64.
#[derive(Clone, Copy)]
struct Stream {
    state: u64,
    drawn: u64,
}

thread_local! {
    /// `None` in a thread without a seed. Without a destructor, so that it can be read as long as the thread runs.
    static STREAM: Cell<Option<Stream>> = const { Cell::new(None) };
}

/// Begins the stream of this thread.
pub(crate) fn begin(seed: u64) {
    STREAM.set(Some(Stream { state: seed, drawn: 0 }));
}

/// The next number of this thread; `None` if it has no seed.
pub(crate) fn next() -> Option<u64> {
    let mut stream = STREAM.get()?;
    stream.state = stream.state.wrapping_add(INCREMENT);
    stream.drawn += 1;
    STREAM.set(Some(stream));
    Some(mix(stream.state))
}

/// How many numbers this thread has drawn.
pub(crate) fn drawn() -> u64 {
    STREAM.get().map_or(0, |stream| stream.drawn)
}

/// Fills a buffer from the stream of this thread. Returns false, and writes nothing, if the thread has no seed.
pub(crate) fn fill(buffer: &mut [MaybeUninit<u8>]) -> bool {
    if STREAM.get().is_none() {
        return false;
    }
    for piece in buffer.chunks_mut(size_of::<u64>()) {
        let number = next().expect("the thread has a seed").to_le_bytes();
        for (byte, random) in piece.iter_mut().zip(number) {
            byte.write(random);
        }
    }
    true
}

/// Scatters the bits of a number. In SplitMix64: the finalizer.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_without_a_seed_has_no_stream_and_writes_nothing() {
        let mut buffer = [MaybeUninit::new(7)];
        assert!(!fill(&mut buffer) && next().is_none() && drawn() == 0);
    }

    #[test]
    fn a_stream_is_splitmix64_and_fills_buffers_of_any_length() {
        begin(1_234_567);
        assert_eq!([next(), next()], [Some(6_457_827_717_110_365_317), Some(3_203_168_211_198_807_973)]);
        assert!(fill(&mut []) && drawn() == 2, "an empty buffer draws nothing");
        assert!(fill(&mut [MaybeUninit::uninit(); 9]) && drawn() == 4, "nine bytes draw two numbers");
    }
}
