//! The two C functions through which Rust programs on Linux take randomness from the system: this crate defines them,
//! and the linker prefers the program's own to those of libc.
//!
//! - std has a weak reference to `getrandom`, so that a program can define it.
//! - The crate getrandom 0.3 and 0.4 looks `getrandom` up with `dlsym`.
//! - The crate getrandom 0.2 calls `syscall(SYS_getrandom, ..)`.
//!
//! A call from a thread without a seed, and every other system call, is passed on to libc.
#![expect(unsafe_code, reason = "C functions that replace those of libc cannot be written without")]

use std::ffi::{CStr, c_long, c_uint, c_void};
use std::mem::{MaybeUninit, transmute};
use std::ptr::null_mut;
use std::slice::from_raw_parts_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::stream;

type GetRandom = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize;
type SystemCall = unsafe extern "C" fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long;

/// A function of libc, looked up once. An atomic instead of a lock, because locks are built on system calls.
struct OfLibc {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

static GETRANDOM: OfLibc = OfLibc { name: c"getrandom", found: AtomicPtr::new(null_mut()) };
static SYSCALL: OfLibc = OfLibc { name: c"syscall", found: AtomicPtr::new(null_mut()) };

impl OfLibc {
    fn address(&self) -> *mut c_void {
        let mut address = self.found.load(Ordering::Relaxed);
        if address.is_null() {
            // SAFETY: the name ends with a zero byte. `RTLD_NEXT` finds the definition after the one in this program.
            address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
            assert!(!address.is_null(), "libc has no {:?}", self.name);
            self.found.store(address, Ordering::Relaxed);
        }
        address
    }
}

/// Whether `dlsym` finds the functions of this crate.
pub(crate) fn are_exported() -> bool {
    // SAFETY: the name ends with a zero byte.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, GETRANDOM.name.as_ptr()) };
    found.cast_const() == getrandom as GetRandom as *const c_void
}

/// Answers as getrandom(2).
///
/// # Safety
/// `length` bytes at `buffer` may be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    // An empty buffer may have any address, and a slice of it may not.
    if length > 0 && !buffer.is_null() {
        // SAFETY: the caller states that these bytes may be written, and no other reference to them is used meanwhile.
        let bytes = unsafe { from_raw_parts_mut(buffer.cast::<MaybeUninit<u8>>(), length) };
        if stream::fill(bytes) {
            return length.cast_signed();
        }
    }
    // SAFETY: libc's `getrandom` has this type.
    let passed_on = unsafe { transmute::<*mut c_void, GetRandom>(GETRANDOM.address()) };
    // SAFETY: the caller keeps the contract of getrandom(2).
    unsafe { passed_on(buffer, length, flags) }
}

/// Answers as syscall(2): `SYS_getrandom` as [`getrandom`], and passes all others on.
///
/// C declares it with any number of arguments. On x86-64 and aarch64 such a call puts integers where a function with
/// fixed arguments expects them; the last of those that the caller did not pass has any value, as in libc's own.
///
/// # Safety
/// As for the system call.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
    sixth: usize,
) -> c_long {
    if number == libc::SYS_getrandom {
        // SAFETY: the caller keeps the contract of getrandom(2). Flags have 32 bits.
        let written = unsafe { getrandom(first as *mut c_void, second, third as c_uint) };
        return written as c_long;
    }
    // SAFETY: libc's `syscall` reads its arguments from where this type passes them.
    let passed_on = unsafe { transmute::<*mut c_void, SystemCall>(SYSCALL.address()) };
    // SAFETY: the caller keeps the contract of the system call.
    unsafe { passed_on(number, first, second, third, fourth, fifth, sixth) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_system_calls_and_their_errors_reach_the_system() {
        stream::begin(7);
        // SAFETY: getpid takes no arguments.
        let own = unsafe { syscall(libc::SYS_getpid, 0, 0, 0, 0, 0, 0) };
        assert_eq!(u32::try_from(own).unwrap(), std::process::id());
        // SAFETY: close refuses a descriptor that is not open.
        let refused = unsafe { syscall(libc::SYS_close, usize::MAX, 0, 0, 0, 0, 0) };
        let error = std::io::Error::last_os_error().raw_os_error();
        assert_eq!((refused, error), (-1, Some(libc::EBADF)));
    }

    #[test]
    fn without_a_seed_getrandom_passes_flags_and_errors_on() {
        let mut byte = 0_u8;
        // SAFETY: the byte may be written.
        let refused = unsafe { getrandom((&raw mut byte).cast(), 1, c_uint::MAX) };
        let error = std::io::Error::last_os_error().raw_os_error();
        assert_eq!((refused, error), (-1, Some(libc::EINVAL)));
    }
}
