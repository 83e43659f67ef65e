use coracle_ambient::Random;
use p521::elliptic_curve::rand_core::{CryptoRng, Error as RandomError, RngCore};
use ring::rand::{SecureRandom, SystemRandom};

use crate::Error;

/// Secret bytes: of the stream if it has a seed, of the operating system otherwise.
pub(crate) fn secret_bytes<const LENGTH: usize>(random: &Random) -> Result<[u8; LENGTH], Error> {
    let mut bytes = [0; LENGTH];
    fill(random, &mut bytes)?;
    Ok(bytes)
}

fn fill(random: &Random, bytes: &mut [u8]) -> Result<(), Error> {
    if random.is_seeded() {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&random.bits().to_be_bytes()[..chunk.len()]);
        }
        return Ok(());
    }
    SystemRandom::new().fill(bytes).map_err(|_| Error::NoRandomness)
}

/// The same source for the library of P-521.
#[derive(Clone)]
pub(crate) struct Nonces(pub(crate) Random);

impl CryptoRng for Nonces {}

impl RngCore for Nonces {
    fn next_u32(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.fill_bytes(&mut bytes);
        u32::from_be_bytes(bytes)
    }

    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill_bytes(&mut bytes);
        u64::from_be_bytes(bytes)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        fill(&self.0, bytes).expect("the system has randomness");
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), RandomError> {
        self.fill_bytes(bytes);
        Ok(())
    }
}
