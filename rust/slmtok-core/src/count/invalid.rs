//! What one worker saw of bytes that are not UTF-8, in memory that does not grow with the number of documents.

/// Bytes in no well-formed sequence, the documents that have some, and the first of them.
#[derive(Default)]
pub(super) struct Invalid {
    pub bytes: u64,
    /// (document, byte in it).
    pub first: Option<(u64, u64)>,
    /// Documents that one call saw whole.
    whole: u64,
    /// Documents of which calls saw parts, as often as that was.
    parts: Vec<u64>,
}

impl Invalid {
    /// Notes `bytes` of them, the first at `place`; `whole`: in a document, not in a part of one.
    pub fn note(&mut self, place: (u64, u64), bytes: u64, whole: bool) {
        self.bytes += bytes;
        self.first = Some(self.first.map_or(place, |first| first.min(place)));
        match whole {
            true => self.whole += 1,
            false => self.parts.push(place.0),
        }
    }

    pub fn absorb(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.first = self.first.into_iter().chain(other.first).min();
        self.whole += other.whole;
        self.parts.extend(other.parts);
    }

    /// How many documents have such bytes.
    pub fn documents(mut self) -> u64 {
        self.parts.sort_unstable();
        self.parts.dedup();
        self.whole + self.parts.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_one_document_count_once() {
        let (mut one, mut other) = (Invalid::default(), Invalid::default());
        one.note((3, 9), 2, false);
        one.note((5, 0), 1, true);
        other.note((3, 4), 7, false);
        other.note((4, 1), 1, false);
        one.absorb(other);
        assert_eq!((one.bytes, one.first), (11, Some((3, 4))));
        assert_eq!(one.documents(), 3);
    }
}
