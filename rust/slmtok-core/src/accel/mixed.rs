//! Texts of which some have their bytes elsewhere, and the others' are made.

use std::ops::Range;

use super::transcode::Utf8;

/// The bytes of some texts.
#[derive(Debug, Default)]
pub struct Mixed<'a> {
    places: Vec<Place<'a>>,
    made: Utf8,
}

#[derive(Debug)]
enum Place<'a> {
    Elsewhere(&'a [u8]),
    Made(Range<usize>),
}

impl<'a> Mixed<'a> {
    /// None yet. What will be made goes behind what is in `made`.
    #[must_use]
    pub fn new(made: Utf8) -> Self {
        Self { places: Vec::new(), made }
    }

    /// Adds a text that has its bytes.
    pub fn add(&mut self, bytes: &'a [u8]) {
        self.places.push(Place::Elsewhere(bytes));
    }

    /// Adds the text that `make` makes, and returns how many bytes it has.
    ///
    /// # Errors
    /// What `make` returns.
    pub fn make<E>(&mut self, make: impl FnOnce(&mut Utf8) -> Result<(), E>) -> Result<usize, E> {
        let start = self.made.bytes().len();
        make(&mut self.made)?;
        let end = self.made.bytes().len();
        self.places.push(Place::Made(start..end));
        Ok(end - start)
    }

    /// The bytes of each, in order.
    #[must_use]
    pub fn slices(&self) -> Vec<&[u8]> {
        let places = self.places.iter();
        places
            .map(|place| match place {
                Place::Elsewhere(bytes) => *bytes,
                Place::Made(range) => &self.made.bytes()[range.clone()],
            })
            .collect()
    }

    /// The memory, to be used again.
    #[must_use]
    pub fn into_made(self) -> Utf8 {
        self.made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_out_in_order_whoever_has_them() {
        let mut texts = Mixed::new(Utf8::of_about(0));
        texts.add(b"one");
        assert_eq!(texts.make(|made| made.push(&[0xE9, 0x4E2D])), Ok(5));
        texts.add(b"");
        assert_eq!(texts.make(|_| Ok::<_, ()>(())), Ok(0));
        assert_eq!(texts.make(|made| made.push(&[0x41])), Ok(1));
        assert_eq!(texts.slices(), [&b"one"[..], "é中".as_bytes(), b"", b"", b"A"]);
        assert_eq!(texts.into_made().bytes(), "é中A".as_bytes());
    }
}
