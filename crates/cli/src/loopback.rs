//! The loopback interface of a new network, which is down at first.

use std::io;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, send, socket};

/// The length of a netlink header, and that of the message: a header, and the description of an interface.
const HEADER: usize = 16;
const MESSAGE: u32 = 32;
/// `RTM_NEWLINK`: changes an interface that exists.
const CHANGE: u16 = 16;
/// `NLM_F_REQUEST | NLM_F_ACK`
const ANSWERED: u16 = 5;
/// The index of the loopback interface is 1 in each network.
const LOOPBACK: i32 = 1;
/// `IFF_UP`
const UP: u32 = 1;

/// Switches on the loopback interface of the network of this process.
///
/// # Errors
/// The error of the system.
pub(crate) fn switch_on() -> io::Result<()> {
    // The protocol without a number is `NETLINK_ROUTE`.
    let socket = socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    send(&socket, &message(), SendFlags::empty())?;
    let mut answer = [0; 1024];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    // The answer is a header and an error number, which is 0 for success and negative otherwise.
    let number =
        answer.get(HEADER..HEADER + 4).filter(|_| length >= HEADER + 4).and_then(|bytes| bytes.try_into().ok());
    match number.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(number) => Err(io::Error::from_raw_os_error(-number)),
        None => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
    }
}

/// `struct nlmsghdr` and `struct ifinfomsg`.
fn message() -> Vec<u8> {
    let mut bytes = Vec::from(MESSAGE.to_ne_bytes());
    bytes.extend(CHANGE.to_ne_bytes());
    bytes.extend(ANSWERED.to_ne_bytes());
    // The number of the message, and the sender: the kernel fills it in.
    bytes.extend([1_u32, 0].map(u32::to_ne_bytes).concat());
    // The address family, padding and the type of the interface are not given.
    bytes.extend([0; 4]);
    bytes.extend(LOOPBACK.to_ne_bytes());
    bytes.extend([UP, UP].map(u32::to_ne_bytes).concat());
    bytes
}
